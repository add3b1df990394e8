"""Settings: of the command line, the server and the schedule. Nothing here opens a store."""
