"""Recognises files that are no usable GGUF and says what they are instead."""

from __future__ import annotations

import os
from pathlib import Path

from engine.config import format_size
from engine.errors import ModelFileError

NEW_COPY = "Get a new copy of the file."
START_BYTES = 256
_UNFINISHED = (".part", ".crdownload", ".download", ".partial", ".incomplete", ".aria2", ".tmp")
_WEB_PAGE = (b"<!doctype", b"<html", b"<?xml", b"<head", b"<!--")
_KNOWN_STARTS = (
    (b"PK\x03\x04", "a ZIP archive (perhaps a PyTorch checkpoint)"),
    *((bytes((0x80, protocol)), "a Python pickle (a PyTorch checkpoint)") for protocol in range(2, 6)),
    (b"\x1f\x8b", "a gzip archive"),
    (b"7z\xbc\xaf", "a 7-Zip archive"),
    (b"Rar!", "a RAR archive"),
    (b"\x28\xb5\x2f\xfd", "a Zstandard archive"),
    (b"\x93NUMPY", "a NumPy array"),
    (b"\x89HDF", "an HDF5 file (a Keras checkpoint)"),
    (b"%PDF", "a PDF document"),
    # the magics of the formats before GGUF, as they lie on disk
    (b"tjgg", "an old GGML file (ggjt), from before GGUF"),
    (b"lmgg", "an old GGML file (ggml), from before GGUF"),
    (b"fmgg", "an old GGML file (ggmf), from before GGUF"),
    (b"algg", "an old GGML adapter (ggla), from before GGUF"),
    (b"{", "a JSON text (perhaps the message of a server)"),
)


def shown(path: Path) -> str:
    """The file's name for messages; bytes that are no text in the system's encoding become U+FFFD."""
    return os.fsencode(path.name or path).decode(errors="replace")


def check_place(path: Path) -> None:
    """Raise ModelFileError unless `path` is an existing file; OSError where the system can't tell."""
    if path.is_dir():
        raise ModelFileError(f"{shown(path)} is a folder, not a file.", "Choose the .gguf file inside it.")
    if not path.exists():
        link = " (a link to a file that is gone)" if path.is_symlink() else ""
        raise ModelFileError(
            f"There is no file {shown(path)}{link} in {_folder(path)}.",
            "Check the name, or choose another file.",
        )
    if not path.is_file():
        raise ModelFileError(f"{shown(path)} is not a regular file.", "Choose a .gguf file.")


def _folder(path: Path) -> str:
    return os.fsencode(path.absolute().parent).decode(errors="replace")


def unreadable(path: Path, error: OSError) -> ModelFileError:
    """The operating system refuses the file."""
    if isinstance(error, PermissionError):
        return ModelFileError(
            f"{shown(path)} may not be read: you lack the permission.",
            "Give yourself read permission on the file and its folder.",
            str(error),
        )
    return ModelFileError(
        f"{shown(path)} can't be read ({error.strerror}).",
        "Check that the disk is connected and sound.",
        str(error),
    )


def check_start(path: Path, start: bytes) -> None:
    """Raise ModelFileError unless `start`, the first bytes of the file, looks like GGUF."""
    if not start:
        raise ModelFileError(f"{shown(path)} is empty.", "The download did not start. " + NEW_COPY)
    if not start.startswith(b"GGUF"):
        raise _not_gguf(path, start)


def _not_gguf(path: Path, start: bytes) -> ModelFileError:
    stand_in = _stand_in(shown(path), start)
    if stand_in is not None:
        return stand_in
    if _is_unfinished(path):
        return ModelFileError(
            f"{shown(path)} is an unfinished download.", "Let it finish, then open the result."
        )
    if len(start) < 4:
        return cut_off(path, len(start))
    return ModelFileError(f"{shown(path)} is {_content(start)}, not a GGUF model.", "Choose a .gguf file.")


def _stand_in(name: str, start: bytes) -> ModelFileError | None:
    """What a download leaves in the place of a model."""
    if start.startswith(b"version https://git-lfs"):
        return ModelFileError(
            f"{name} is a git-lfs pointer, not the model: the text that stands for it in a repository.",
            "Fetch the real file with “git lfs pull”, or download it from the model's page.",
        )
    if start.lstrip(b"\xef\xbb\xbf \t\r\n").lower().startswith(_WEB_PAGE):
        return ModelFileError(
            f"{name} is a web page, not a model: the download saved the page instead of the file.",
            "Download it again with the page's own download button.",
        )
    if not start.strip(b"\0"):
        return ModelFileError(
            f"{name} begins with zeros: its space was reserved, but the beginning never arrived.",
            "Let the download finish, or start it again.",
        )
    return None


def _content(start: bytes) -> str:
    if start[8:9] == b"{" and start[7] == 0:  # eight bytes of length, then JSON
        return "a safetensors file"
    known = (what for magic, what in _KNOWN_STARTS if start.startswith(magic))
    return next(known, f"of an unknown kind (its first bytes are {start[:4]!r})")


def _is_unfinished(path: Path) -> bool:
    return path.name.lower().endswith(_UNFINISHED)


def cut_off(path: Path, size_bytes: int) -> ModelFileError:
    """The file ends before its header does."""
    return ModelFileError(
        f"{shown(path)} ends in the middle of its header, after {format_size(size_bytes)}.",
        _download_again(path),
    )


def truncated_data(path: Path, tensor: str, size_bytes: int, needed_bytes: int) -> ModelFileError:
    """The header promises more weights than the file has."""
    return ModelFileError(
        f"{shown(path)} is incomplete: {format_size(size_bytes)} of {format_size(needed_bytes)} are there "
        f"({100 * size_bytes // needed_bytes} %), {needed_bytes - size_bytes} bytes are missing.",
        _download_again(path),
        f"the first tensor that is not complete is {tensor}",
    )


def _download_again(path: Path) -> str:
    if _is_unfinished(path):
        return "It is an unfinished download: let it finish, then open the result."
    return "The download was not completed: resume it, or get the file again."
