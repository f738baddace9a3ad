#!/usr/bin/env python3
"""Everything a fresh machine needs, with the standard library only.

python3 installer/bootstrap.py setup   virtual environment, dependencies, system libraries
python3 installer/bootstrap.py run     setup, then the window (without a display: the terminal chat)
python3 installer/bootstrap.py test    setup with the developers' tools, then every check and test
"""

from __future__ import annotations

import argparse
import hashlib
import os
import shutil
import subprocess
import sys
import time
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
ENVIRONMENT = ROOT / ".venv"
PYTHON = ENVIRONMENT / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
STAMP = ENVIRONMENT / "emberglass-setup"
# only what is used: no image models; the RPC device is the second machine (and the test device)
CMAKE_ARGS = "-DLLAVA_BUILD=OFF -DGGML_RPC=ON"

BUILD_TOOLS = {"cmake": "cmake", "g++": "g++"}


class SetupError(Exception):
    """What is wrong and what to do, for a person to read."""


def say(text: str) -> None:
    """One line of progress."""
    print(f"[emberglass] {text}", flush=True)


# --- system packages ------------------------------------------------------------------------


def missing_packages() -> list[str]:
    """Debian packages of absent build tools and of libraries that Qt needs."""
    if not sys.platform.startswith("linux"):
        return []
    sys.path.insert(0, str(ROOT))
    from app.display_check import (  # noqa: PLC0415 - the program's own list; needs the path, but not Qt
        QT_LIBRARIES,
        X11_LIBRARIES,
        has_library,
    )

    tools = [package for tool, package in BUILD_TOOLS.items() if shutil.which(tool) is None]
    libraries = {**QT_LIBRARIES, **X11_LIBRARIES}
    return tools + [package for library, package in libraries.items() if not has_library(library)]


def ensure_packages() -> None:
    """Install missing system packages where that is allowed, else name the exact command."""
    missing = missing_packages()
    if not missing:
        return
    command = ["apt-get", "install", "-y", "--no-install-recommends", *missing]
    if shutil.which("apt-get") is None:
        raise SetupError(
            f"These are missing: {', '.join(missing)} (Debian's names). Install them, then try again."
        )
    if os.geteuid() != 0:
        raise SetupError(f"System packages are missing. Install them with:\n  sudo {' '.join(command)}")
    say(f"installing system packages: {' '.join(missing)}")
    quiet = {"stdout": subprocess.DEVNULL, "env": {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}}
    subprocess.run(["apt-get", "update", "-qq"], check=False, **quiet)
    if subprocess.run(command, check=False, **quiet).returncode:
        raise SetupError(f"System packages could not be installed. Try:\n  {' '.join(command)}")


# --- virtual environment --------------------------------------------------------------------


def fingerprint(extra: str) -> str:
    """Changes when the declared dependencies do."""
    declared = (ROOT / "pyproject.toml").read_bytes() + extra.encode() + CMAKE_ARGS.encode()
    return hashlib.sha256(declared).hexdigest()


def is_current(extra: str) -> bool:
    """Whether the environment was set up from these declarations, with at least these extras."""
    if not PYTHON.exists() or not STAMP.exists():
        return False
    return STAMP.read_text() in {fingerprint(extra), fingerprint("dev")}


def ensure_environment(extra: str) -> None:
    """Create the virtual environment and install the project into it, unless that is done already."""
    if is_current(extra):
        return
    if sys.version_info < (3, 11):  # noqa: UP036 - this file also starts on older Pythons, to say so
        raise SetupError(f"Python 3.11 or newer is needed; this is {sys.version.split()[0]}.")
    if not PYTHON.exists():
        say("creating the virtual environment .venv")
        try:
            venv.create(ENVIRONMENT, with_pip=True)
        except subprocess.CalledProcessError as error:
            raise SetupError("Python has no venv module. Install it: apt-get install python3-venv") from error
    say("installing dependencies (the first time llama.cpp is compiled: about ten minutes on two cores)")
    target = f"{ROOT}[{extra}]" if extra else str(ROOT)
    run_with_progress(
        [
            str(PYTHON),
            "-m",
            "pip",
            "install",
            "--disable-pip-version-check",
            "--progress-bar",
            "off",
            "-e",
            target,
        ]
    )
    STAMP.write_text(fingerprint(extra))


def run_with_progress(command: list[str]) -> None:
    """Run pip; show its milestones and a sign of life every 30 seconds, and all of it on failure."""
    log = ENVIRONMENT / "setup.log"
    environment = {**os.environ, "CMAKE_ARGS": os.environ.get("CMAKE_ARGS", CMAKE_ARGS)}
    started = time.monotonic()
    with log.open("w+") as output:
        process = subprocess.Popen(command, stdout=output, stderr=subprocess.STDOUT, env=environment)
        shown, last = 0, started
        while process.poll() is None:
            time.sleep(1)
            lines = log.read_text(errors="replace").splitlines()
            for line in lines[shown:]:
                if line.lstrip().startswith(("Building wheel", "Installing collected", "Successfully")):
                    say(line.strip()[:160])
                    last = time.monotonic()
            shown = len(lines)
            if time.monotonic() - last > 30:
                last = time.monotonic()
                say(f"still working ({last - started:.0f} s)")
    if process.returncode:
        tail = "\n".join(log.read_text(errors="replace").splitlines()[-30:])
        raise SetupError(f"{tail}\n\nInstalling failed; the whole log is {log}")


# --- commands -------------------------------------------------------------------------------


def has_display() -> bool:
    """Whether a window can be shown."""
    if not sys.platform.startswith("linux"):
        return True
    return bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))


def run(arguments: list[str]) -> int:
    """The window on the demo model, or on the given file; without a display the terminal chat."""
    if has_display():
        return subprocess.call([str(PYTHON), "-m", "app", *arguments], cwd=ROOT)
    say("there is no display, so the chat runs in this terminal")
    return subprocess.call([str(PYTHON), "-m", "engine", "chat", *arguments], cwd=ROOT)


def test(arguments: list[str]) -> int:
    """Every check that CI runs; extra arguments go to pytest."""
    tools = PYTHON.parent
    checks = [
        [str(tools / "ruff"), "check", "."],
        [str(tools / "ruff"), "format", "--check", "."],
        [str(tools / "mypy")],
        [str(tools / "lint-imports")],
    ]
    environment = {**os.environ, "QT_QPA_PLATFORM": "offscreen"}
    for command in checks:
        say(" ".join([Path(command[0]).name, *command[1:]]))
        if subprocess.call(command, cwd=ROOT, env=environment):
            return 1
    return subprocess.call([str(PYTHON), "-m", "pytest", *arguments], cwd=ROOT, env=environment)


def main() -> int:
    """Parse, set up, do."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("command", choices=("setup", "run", "test"))
    parser.add_argument(
        "arguments", nargs=argparse.REMAINDER, help="passed on (run: a file; test: to pytest)"
    )
    options = parser.parse_args()
    try:
        ensure_packages()
        ensure_environment("dev" if options.command == "test" else "")
    except SetupError as fault:
        print(fault, file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    if options.command == "run":
        return run(options.arguments)
    return test(options.arguments) if options.command == "test" else 0


if __name__ == "__main__":
    sys.exit(main())
