"""Says in one line why no window can open, before Qt would abort the process."""

from __future__ import annotations

import ctypes
import os
import socket
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

_NO_DISPLAY = (
    "Emberglass found no display for its window{detail}. "
    "“python -m engine chat FILE.gguf” works in a terminal."
)
# what Qt itself links to, and Debian's name for the package; installer/bootstrap.py reads both tables
QT_LIBRARIES = {
    "libEGL.so.1": "libegl1",
    "libGL.so.1": "libgl1",
    "libxkbcommon.so.0": "libxkbcommon0",
    "libfontconfig.so.1": "libfontconfig1",
    "libfreetype.so.6": "libfreetype6",
    "libdbus-1.so.3": "libdbus-1-3",
    "libglib-2.0.so.0": "libglib2.0-0",
    "libX11.so.6": "libx11-6",
}
X11_LIBRARIES = {
    "libxcb-cursor.so.0": "libxcb-cursor0",
    "libxcb-icccm.so.4": "libxcb-icccm4",
    "libxcb-image.so.0": "libxcb-image0",
    "libxcb-keysyms.so.1": "libxcb-keysyms1",
    "libxcb-randr.so.0": "libxcb-randr0",
    "libxcb-render-util.so.0": "libxcb-render-util0",
    "libxcb-shape.so.0": "libxcb-shape0",
    "libxcb-shm.so.0": "libxcb-shm0",
    "libxcb-sync.so.1": "libxcb-sync1",
    "libxcb-util.so.1": "libxcb-util1",
    "libxcb-xfixes.so.0": "libxcb-xfixes0",
    "libxcb-xkb.so.1": "libxcb-xkb1",
    "libxkbcommon-x11.so.0": "libxkbcommon-x11-0",
    "libX11-xcb.so.1": "libx11-xcb1",
}


def window_problem(environment: Mapping[str, str] = os.environ) -> str:
    """Why a window can't open here, with the next step; empty if it can. Takes a few milliseconds."""
    if not sys.platform.startswith("linux"):
        return ""
    platform = environment.get("QT_QPA_PLATFORM", "").split(":")[0].split(";")[0]
    needs_screen = platform in ("", "xcb", "wayland", "wayland-egl")
    is_wayland_up = needs_screen and platform != "xcb" and has_wayland(environment)
    is_x11_needed = needs_screen and not is_wayland_up
    if is_x11_needed and not environment.get("DISPLAY"):
        return _NO_DISPLAY.format(detail="")
    libraries = QT_LIBRARIES | X11_LIBRARIES if is_x11_needed else QT_LIBRARIES
    problem = library_problem(libraries, has_library)
    if not problem and is_x11_needed and not _has_x11(environment["DISPLAY"]):
        return _NO_DISPLAY.format(detail=f" (X server “{environment['DISPLAY']}” does not answer)")
    return problem


def library_problem(libraries: Mapping[str, str], is_there: Callable[[str], bool]) -> str:
    """The exact command that installs what is missing; empty if nothing is."""
    missing = {library: package for library, package in libraries.items() if not is_there(library)}
    if not missing:
        return ""
    return (
        f"The window needs system libraries that are missing ({', '.join(missing)}). "
        f"Install them with: sudo apt install {' '.join(missing.values())}"
    )


def has_library(name: str) -> bool:
    """Whether the dynamic linker finds and can load the library."""
    try:
        ctypes.CDLL(name)
    except OSError:
        return False
    return True


def has_wayland(environment: Mapping[str, str]) -> bool:
    """Whether a Wayland compositor accepts connections."""
    name = environment.get("WAYLAND_DISPLAY", "")
    if not name:
        return False
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as client:
        client.settimeout(1)
        try:
            # an absolute WAYLAND_DISPLAY replaces the directory
            client.connect(str(Path(environment.get("XDG_RUNTIME_DIR", "")) / name))
        except OSError:
            return False
    return True


def _has_x11(display: str) -> bool:
    """Ask libxcb, as Qt will: it knows sockets, networks and authority files."""
    xcb = ctypes.CDLL("libxcb.so.1")
    xcb.xcb_connect.restype = ctypes.c_void_p
    xcb.xcb_connect.argtypes = [ctypes.c_char_p, ctypes.c_void_p]
    xcb.xcb_connection_has_error.argtypes = [ctypes.c_void_p]
    xcb.xcb_disconnect.argtypes = [ctypes.c_void_p]
    connection = xcb.xcb_connect(display.encode(), None)
    is_sound = bool(xcb.xcb_connection_has_error(connection) == 0)
    xcb.xcb_disconnect(connection)
    return is_sound
