"""Every figure of the README, measured side by side in one run (`make bench`)."""
