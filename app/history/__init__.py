"""Conversations in SQLite; no Qt."""
