"""The command line: what all commands share."""
