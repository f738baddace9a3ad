"""Live performance inspector."""
