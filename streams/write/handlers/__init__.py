"""The handlers of requests, a module for each family."""
