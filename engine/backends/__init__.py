"""Inference backends; see `base` for the contract."""
