"""Charts as numbers, for pages and reports. Pure."""
