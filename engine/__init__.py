"""Emberglass engine: decides where experts live, runs the model, reports facts. Never imports Qt.

Public: `engine.service` (the thread-safe facade), `engine.events`, `engine.config`, `engine.errors`,
`engine.gguf`, `engine.backends.base`. Everything else is internal.
"""
