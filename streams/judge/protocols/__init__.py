"""The protocols of judges: how to send a request to a service, and how to read its answer."""
