"""Tiny model files, written once per test session; a filesystem that refuses direct reads."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Protocol

import pytest

from tests.support.device_server import DeviceServer, serving_device
from tests.support.models import Field, tiny_model


class TinyModels(Protocol):
    """`tiny_models("qwen3moe", n_expert=8)`: path of a model that every test of the session shares."""

    def __call__(self, layout: str, /, **overrides: Field) -> Path: ...


@pytest.fixture(scope="session")
def tiny_models(tmp_path_factory: pytest.TempPathFactory) -> TinyModels:
    """Factory of shared models; tests must copy a file before they change it."""
    directory = tmp_path_factory.mktemp("models")

    def model(layout: str, /, **overrides: Field) -> Path:
        return tiny_model(layout, directory, **overrides)

    return model


@pytest.fixture(scope="module")
def server() -> Iterator[DeviceServer]:
    """A device in memory of another process, for a module's tests."""
    with serving_device() as server:
        yield server


@pytest.fixture
def no_direct_io(monkeypatch: pytest.MonkeyPatch) -> None:
    """Files open as on a filesystem without O_DIRECT."""
    real_open = os.open

    def refuse_direct(path: str, flags: int, *rest: int) -> int:
        if flags & os.O_DIRECT:
            raise OSError(22, "Invalid argument")
        return real_open(path, flags, *rest)

    monkeypatch.setattr(os, "open", refuse_direct)
