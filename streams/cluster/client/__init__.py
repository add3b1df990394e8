"""What talks to topics from outside a worker."""
