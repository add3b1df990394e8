"""Batch runs and reviews over a whole store, with the local judge's server where it is asked."""
