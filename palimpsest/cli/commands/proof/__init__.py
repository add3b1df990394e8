"""Proof: on labelled data (`evaluate`, `calibrate`), and of the joins that stand (`audit`)."""
