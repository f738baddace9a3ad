"""A label of several lines with a name for screen readers."""

from __future__ import annotations

from PySide6.QtWidgets import QLabel


def wrapped_label(name: str) -> QLabel:
    """Empty; wraps at any width."""
    label = QLabel()
    label.setWordWrap(True)
    label.setAccessibleName(name)
    return label
