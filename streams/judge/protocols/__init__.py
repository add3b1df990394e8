"""The protocols of judges: how a request is put to a service, and how its answer is read."""
