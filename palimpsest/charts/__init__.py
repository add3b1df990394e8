"""Layout of charts as numbers, for pages and reports. Pure functions."""
