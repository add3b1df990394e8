"""The writer that both runtimes share: inputs and requests in, one commit out.

It knows the log that it reads from, but neither who holds a lock nor any topic.
"""
