"""Proof: on labelled data (`evaluate`, `calibrate`), and for the standing joins (`audit`)."""
