"""The settings dialog, presets, and the settings of one conversation."""
