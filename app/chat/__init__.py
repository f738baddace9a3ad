"""Conversation view and composer."""
