"""The commands, one module per group; each is thin: settings, one call of the facade, output.

Nothing costly is imported before a command needs it, so that `--help` answers at once.
"""
