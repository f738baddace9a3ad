"""The program's version, installed or run from its source tree."""

from __future__ import annotations

import tomllib
from importlib import metadata
from pathlib import Path


def program_version() -> str:
    """Like 0.1.0."""
    try:
        return metadata.version("emberglass")
    except metadata.PackageNotFoundError:
        declared = Path(__file__).resolve().parent.parent / "pyproject.toml"
        return str(tomllib.loads(declared.read_text(encoding="utf-8"))["project"]["version"])
