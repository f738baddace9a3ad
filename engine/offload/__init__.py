"""Moves expert weights: slot arenas, readers, the pipeline of the layer in flight."""
