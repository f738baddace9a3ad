"""For all tests: nobody's real data folder, and no verdict that depends on how busy the machine is."""

from __future__ import annotations

import gc
import itertools

import pytest
from hypothesis import settings

settings.register_profile("any-machine", deadline=None)
settings.load_profile("any-machine")

_numbers = itertools.count()
# what platformdirs asks first, on Linux and macOS and on Windows
_VARIABLES = ("XDG_DATA_HOME", "WIN_PD_OVERRIDE_LOCAL_APPDATA")


def pytest_collection_finish() -> None:
    """What was imported stays: a collection need not walk it again after every window test."""
    gc.collect()
    gc.freeze()


@pytest.fixture(autouse=True)
def data_home(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder of its own for every test and its subprocesses; made by whoever first writes there."""
    folder = tmp_path_factory.getbasetemp() / f"data-home-{next(_numbers)}"
    for variable in _VARIABLES:
        monkeypatch.setenv(variable, str(folder))
