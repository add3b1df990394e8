"""The formats of models' files: a folder, or one file."""
