"""The cluster runtime: Kafka topics instead of a file, Faust workers instead of one process.

Needs the extra `cluster`; nothing outside this package imports aiokafka or Faust.
"""
