"""The judge: a model of a service that is asked about pairs in the gray zone (design section 6)."""
