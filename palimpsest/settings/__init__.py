"""Settings of the command line, the server and the schedule. No module here opens a store."""
