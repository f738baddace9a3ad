"""Counters, event lanes and the system sampler."""
