"""The process of a server: it wires the doors of one store together and runs them."""
