"""No display or missing libraries: one line with the next step, instead of Qt's abort."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from app.display_check import has_wayland, library_problem, window_problem

ROOT = Path(__file__).resolve().parents[3]
linux_only = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="X11 and Wayland")


def test_missing_libraries_give_the_exact_command() -> None:
    libraries = {"libEGL.so.1": "libegl1", "libxcb-cursor.so.0": "libxcb-cursor0", "libGL.so.1": "libgl1"}
    problem = library_problem(libraries, lambda name: name == "libGL.so.1")
    assert problem.endswith("sudo apt install libegl1 libxcb-cursor0")
    assert "libEGL.so.1, libxcb-cursor.so.0" in problem
    assert library_problem(libraries, lambda name: True) == ""


@linux_only
def test_offscreen_needs_no_display() -> None:
    assert "no display" not in window_problem({"QT_QPA_PLATFORM": "offscreen"})


@linux_only
@pytest.mark.parametrize("display", ["", ":4321"])
def test_no_display_is_one_line_and_exit_code_1(display: str, tmp_path: Path) -> None:
    environment = {
        name: value
        for name, value in os.environ.items()
        if name not in ("DISPLAY", "WAYLAND_DISPLAY", "QT_QPA_PLATFORM")
    }
    if display:
        environment["DISPLAY"] = display
    done = subprocess.run(
        [sys.executable, "-m", "app", "--data-dir", str(tmp_path)],
        cwd=ROOT, env=environment, capture_output=True, text=True, check=False, timeout=60,
    )  # fmt: skip
    assert done.returncode == 1
    assert done.stdout == ""
    (line,) = done.stderr.splitlines()
    assert "no display" in line or "sudo apt install" in line
    assert list(tmp_path.iterdir()) == []


@linux_only
def test_wayland_counts_only_if_it_answers(tmp_path: Path) -> None:
    environment = {"XDG_RUNTIME_DIR": str(tmp_path), "WAYLAND_DISPLAY": "wayland-7"}
    assert not has_wayland(environment)
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(tmp_path / "wayland-7"))
        server.listen()
        assert has_wayland(environment)
