"""The demo model's recipe as modules: it lies with the resources, outside the packages."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from types import ModuleType

RECIPE = Path(__file__).resolve().parents[2] / "resources" / "models" / "recipe"


def recipe_module(name: str) -> ModuleType:
    """A module of the recipe that needs neither PyTorch nor native code: “corpus” or “rubric”."""
    sys.path.insert(0, str(RECIPE))
    try:
        return importlib.import_module(name)
    finally:
        sys.path.remove(str(RECIPE))
