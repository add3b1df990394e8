"""Every figure of docs/figures.md, measured side by side in one run (`make bench`)."""
