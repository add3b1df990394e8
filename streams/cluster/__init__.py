"""The cluster runtime: topics of Kafka instead of a file, Faust workers instead of one process.

Needs the extra `cluster`; nothing outside this package imports aiokafka or Faust.
"""
