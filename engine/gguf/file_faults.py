"""Recognises files that are no usable GGUF and says what they are instead."""

from __future__ import annotations

import os
from pathlib import Path

from engine.config import format_size
from engine.errors import ModelFileError

NEW_COPY = "Get a new copy of the file."
_UNFINISHED = (".part", ".crdownload", ".download", ".partial", ".tmp")
_START_BYTES = 256
_KNOWN_STARTS = (
    (b"PK\x03\x04", "a ZIP archive (perhaps a PyTorch checkpoint)"),
    (b"\x80\x02", "a Python pickle (a PyTorch checkpoint)"),
    (b"\x1f\x8b", "a gzip archive"),
    (b"7z\xbc\xaf", "a 7-Zip archive"),
    (b"\x93NUMPY", "a NumPy array"),
    (b"tjgg", "an old GGML file (ggjt), from before GGUF"),
    (b"lmgg", "an old GGML file (ggml), from before GGUF"),
    (b"fmgg", "an old GGML file (ggmf), from before GGUF"),
    (b"GGUF"[::-1], "a GGUF file with swapped bytes"),
)


def check_start(path: Path) -> None:
    """Raise ModelFileError unless `path` is a file that starts like GGUF; OSError if it can't be read."""
    if not path.exists():
        target = " (a broken link)" if path.is_symlink() else ""
        raise ModelFileError(f"There is no file {path}{target}.", "Check the name, or choose another file.")
    if path.is_dir():
        raise ModelFileError(f"{path} is a folder, not a file.", "Choose the .gguf file inside it.")
    if not path.is_file():
        raise ModelFileError(f"{path} is not a regular file.", "Choose a .gguf file.")
    if not os.access(path, os.R_OK):
        raise ModelFileError(f"{path.name} may not be read.", "Give yourself read permission on the file.")
    with path.open("rb") as file:
        start = file.read(_START_BYTES)
    if not start:
        raise ModelFileError(f"{path.name} is empty.", "The download did not start. " + NEW_COPY)
    if not start.startswith(b"GGUF"):
        raise _not_gguf(path, start)


def _not_gguf(path: Path, start: bytes) -> ModelFileError:
    name, text = path.name, start.lstrip().lower()
    if start.startswith(b"version https://git-lfs"):
        return ModelFileError(
            f"{name} is a git-lfs pointer, not the model: the text that stands for it in a repository.",
            "Fetch the real file with “git lfs pull”, or download it from the model's page.",
        )
    if text.startswith((b"<!doctype", b"<html", b"<?xml", b"<head")):
        return ModelFileError(
            f"{name} is a web page, not a model: the download saved the page instead of the file.",
            "Download it again with the page's own download button.",
        )
    if path.name.lower().endswith(_UNFINISHED):
        return ModelFileError(f"{name} is an unfinished download.", "Let it finish, then open the result.")
    for magic, what in _KNOWN_STARTS:
        if start.startswith(magic):
            return ModelFileError(f"{name} is {what}, not a GGUF model.", "Choose a .gguf file.")
    if start[8:9] == b"{" and start[:8].rstrip(b"\0") != start[:8]:
        return ModelFileError(f"{name} is a safetensors file, not a GGUF model.", "Convert it to GGUF first.")
    return ModelFileError(
        f"{name} does not start like a GGUF file (its first bytes are {start[:4]!r}).", "Choose a .gguf file."
    )


def truncated_data(path: Path, tensor: str, size_bytes: int, needed_bytes: int) -> ModelFileError:
    """The header promises more data than the file has."""
    missing = needed_bytes - size_bytes
    return ModelFileError(
        f"{path.name} is incomplete: {format_size(size_bytes)} of {format_size(needed_bytes)} are there, "
        f"{missing} bytes are missing (first seen at “{tensor}”).",
        "The download was not completed. Resume it, or get the file again.",
    )
