"""The first command on a fresh machine: what is missing is named exactly, nothing is done twice."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest

from app import display_check

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture
def bootstrap(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> ModuleType:
    """A fresh copy of the module whose virtual environment is in a temporary folder."""
    spec = importlib.util.spec_from_file_location("bootstrap", ROOT / "installer" / "bootstrap.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    monkeypatch.setattr(module, "ENVIRONMENT", tmp_path)
    monkeypatch.setattr(module, "PYTHON", Path(sys.executable))
    monkeypatch.setattr(module, "STAMP", tmp_path / "stamp")
    monkeypatch.setattr(sys, "path", list(sys.path))
    return module


def test_missing_libraries_and_tools_are_debian_packages(
    bootstrap: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    gone = {"libxcb-cursor.so.0", "libEGL.so.1"}
    monkeypatch.setattr(display_check, "has_library", lambda name: name not in gone)
    monkeypatch.setattr(
        bootstrap.shutil, "which", lambda tool: None if tool == "cmake" else f"/usr/bin/{tool}"
    )
    assert bootstrap.missing_packages() == ["cmake", "libegl1", "libxcb-cursor0"]


def test_without_rights_the_exact_command_is_named(
    bootstrap: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bootstrap, "missing_packages", lambda: ["cmake", "libegl1"])
    monkeypatch.setattr(bootstrap.shutil, "which", lambda _: "/usr/bin/apt-get")
    monkeypatch.setattr(bootstrap.os, "geteuid", lambda: 1000)
    with pytest.raises(bootstrap.SetupError, match=r"sudo apt-get install -y .*cmake libegl1"):
        bootstrap.ensure_packages()


def test_environment_is_set_up_once_per_declaration(bootstrap: ModuleType) -> None:
    assert not bootstrap.is_current("")
    bootstrap.STAMP.write_text(bootstrap.fingerprint("dev"))
    assert bootstrap.is_current("dev")
    assert bootstrap.is_current("")  # the developers' environment holds everything
    bootstrap.STAMP.write_text(bootstrap.fingerprint(""))
    assert not bootstrap.is_current("dev")


@pytest.mark.parametrize(
    ("has_display", "arguments", "expected"),
    [
        (True, ["m.gguf"], ["-m", "app", "m.gguf"]),
        (True, [], ["-m", "app"]),
        (False, ["m.gguf"], ["-m", "engine", "chat", "m.gguf"]),
        (False, [], ["-m", "engine", "chat"]),
    ],
)
def test_run_starts_the_window_or_the_terminal_chat(
    bootstrap: ModuleType,
    monkeypatch: pytest.MonkeyPatch,
    has_display: bool,
    arguments: list[str],
    expected: list[str],
) -> None:
    calls: list[list[str]] = []
    monkeypatch.setattr(bootstrap, "has_display", lambda: has_display)
    monkeypatch.setattr(bootstrap.subprocess, "call", lambda command, **_: calls.append(command) or 0)
    assert bootstrap.run(arguments) == 0
    assert calls == [[sys.executable, *expected]]
