"""The writer that both runtimes share: inputs and requests in, one commit out.

It reads from the log, but knows nothing of locks or topics.
"""
