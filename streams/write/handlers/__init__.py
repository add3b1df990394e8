"""What requests do, a module for each family of them."""
