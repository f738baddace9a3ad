"""Decisions about where experts live: pure values and functions, no native code."""
