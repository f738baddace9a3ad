"""Small GGUF files, sound and wrong in every way the reader names."""

from __future__ import annotations

import struct
from pathlib import Path

import numpy as np
from gguf import GGUFWriter

MAGIC = b"GGUF"


def write_sound(path: Path, *, architecture: str = "llama", alignment: int | None = None) -> Path:
    """A file with metadata of every kind and two tensors; written by the gguf package."""
    writer = GGUFWriter(path, architecture)
    writer.add_name("sound")
    writer.add_block_count(1)
    writer.add_context_length(64)
    writer.add_bool("test.flag", True)
    writer.add_float32("test.float", 0.5)
    writer.add_array("test.numbers", [3, 1, 2])
    writer.add_token_list([f"token {i}" for i in range(3000)])
    if alignment:
        writer.add_custom_alignment(alignment)
    writer.add_tensor("token_embd.weight", np.arange(320, dtype=np.float32).reshape(10, 32))
    writer.add_tensor("output.weight", np.arange(64, dtype=np.float16).reshape(2, 32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


def raw_header(
    tensors: list[tuple[str, tuple[int, ...], int, int]], metadata: bytes = b"", n_metadata: int = 0
) -> bytes:
    """A version 3 header by hand: tensors are (name, shape, type number, offset)."""
    table = b"".join(
        struct.pack("<Q", len(name)) + name.encode() + struct.pack("<I", len(shape))
        + struct.pack(f"<{len(shape)}Q", *shape) + struct.pack("<IQ", kind, offset)
        for name, shape, kind, offset in tensors
    )  # fmt: skip
    return MAGIC + struct.pack("<IQQ", 3, len(tensors), n_metadata) + metadata + table


def text_entry(key: str, value: str) -> bytes:
    """A metadata entry with a string."""
    return struct.pack("<Q", len(key)) + key.encode() + struct.pack("<IQ", 8, len(value)) + value.encode()


def _number_entry(key: str, value: int) -> bytes:
    return struct.pack("<Q", len(key)) + key.encode() + struct.pack("<II", 4, value)


def _split_part(number: int, count: int) -> bytes:
    metadata = text_entry("general.architecture", "llama")
    metadata += _number_entry("split.no", number) + _number_entry("split.count", count)
    return raw_header([], metadata, 3)


def wrong_files(directory: Path) -> dict[str, tuple[Path, str]]:
    """One file per fault: name -> (path, words that the fault must contain)."""
    directory.mkdir(parents=True, exist_ok=True)
    sound = write_sound(directory / "sound.gguf").read_bytes()

    def put(name: str, data: bytes) -> Path:
        path = directory / name
        path.write_bytes(data)
        return path

    folder = directory / "folder.gguf"
    folder.mkdir(exist_ok=True)
    unknown, odd = [("a", (32,), 999, 0)], [("a", (33,), 2, 0)]
    twice = [("a.weight", (32,), 0, 0), ("a.weight", (32,), 0, 128)]
    lonely = put("lonely-00001-of-00003.gguf", _split_part(0, 3))
    put("pair-00001-of-00002.gguf", _split_part(0, 2))
    second = put("pair-00002-of-00002.gguf", _split_part(1, 2))
    return {
        "missing": (directory / "nowhere.gguf", "no file"),
        "empty": (put("empty.gguf", b""), "is empty"),
        "directory": (folder, "is a folder"),
        "truncated header": (put("header.gguf", sound[:100]), "middle of its header"),
        "truncated data": (put("data.gguf", sound[:-40]), "incomplete"),
        "git-lfs pointer": (
            put("lfs.gguf", b"version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 9\n"),
            "git-lfs pointer",
        ),
        "HTML page": (put("page.gguf", b"\n<!DOCTYPE html><html><body>Sign in</body></html>"), "web page"),
        "wrong magic": (put("magic.gguf", b"ABCD" + sound[4:]), "does not start like a GGUF"),
        "zip": (put("zip.gguf", b"PK\x03\x04" + bytes(100)), "ZIP archive"),
        "old ggml": (put("old.gguf", b"tjgg" + bytes(100)), "old GGML file"),
        "safetensors": (put("safe.gguf", struct.pack("<Q", 400) + b'{"a":1}' + bytes(400)), "safetensors"),
        "unfinished download": (put("model.gguf.part", bytes(100)), "unfinished download"),
        "unsupported version": (put("version.gguf", MAGIC + struct.pack("<I", 9) + sound[8:]), "version 9"),
        "version 1": (put("version1.gguf", MAGIC + struct.pack("<I", 1) + sound[8:]), "too old"),
        "big-endian": (put("big.gguf", MAGIC + struct.pack(">I", 3) + sound[8:]), "big-endian"),
        "missing shard": (lonely, "lonely-00002-of-00003.gguf"),
        "second shard first": (second, "part 2 of 2"),
        "renamed shard": (put("renamed.gguf", _split_part(0, 3)), "name does not say so"),
        "duplicate tensor": (put("twice.gguf", raw_header(twice) + bytes(512)), "“a.weight” twice"),
        "unknown tensor type": (put("type.gguf", raw_header(unknown) + bytes(512)), "type 999"),
        "impossible shape": (put("shape.gguf", raw_header(odd) + bytes(512)), "impossible shape"),
        "too many dimensions": (
            put("dims.gguf", raw_header([("a", (1, 1, 1, 1, 1), 0, 0)]) + bytes(512)), "5 dimensions"),
        "absurd tensor count": (
            put("count.gguf", MAGIC + struct.pack("<IQQ", 3, 1 << 60, 0) + bytes(64)), "more than the file"),
        "absurd metadata count": (
            put("kv.gguf", MAGIC + struct.pack("<IQQ", 3, 0, 1 << 60) + bytes(64)), "more than the file"),
        "absurd text length": (
            put("text.gguf", MAGIC + struct.pack("<IQQQ", 3, 0, 1, 1 << 50) + bytes(64)), "bytes long"),
        "bad alignment": (
            put("align.gguf", raw_header([], _number_entry("general.alignment", 24), 1) + bytes(64)),
            "not a power of two"),
    }  # fmt: skip
