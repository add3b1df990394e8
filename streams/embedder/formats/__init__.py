"""The formats of model files: a folder, or one file."""
