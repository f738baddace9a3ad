"""Every wrong file is refused with its own fault and a next step, quickly and in little memory."""

from __future__ import annotations

import os
import re
import time
import tracemalloc
from pathlib import Path

import pytest

from engine.errors import ModelFileError
from engine.gguf.reader import read_model
from tests.support.gguf_files import RawGguf, RawTensor, entry, text, write_gguf, wrong_files

# what the fault and the next step must say
_SAID = {
    "missing": ("no file missing.gguf", "another file"),
    "directory": ("folder.gguf is a folder", "inside"),
    "empty": ("empty", "new copy"),
    "no_permission": ("permission", "permission"),
    "git_lfs_pointer": ("git-lfs pointer", "git lfs pull"),
    "web_page": ("web page", "download button"),
    "server_message": ("JSON", "gguf"),
    "zip": ("ZIP", "gguf"),
    "pickle": ("pickle", "gguf"),
    "safetensors": ("safetensors", "gguf"),
    "old_ggml": ("ggjt", "gguf"),
    "unknown_kind": ("b'RIFF'", "gguf"),
    "zeros": ("begins with zeros", "download"),
    "unfinished_download": ("unfinished download", "finish"),
    "too_short": ("middle of its header, after 2 B", "resume"),
    "big_endian": ("big-endian", "little-endian"),
    "version_1": ("version 1", "newer file"),
    "future_version": ("version 9", "Update"),
    "alignment_zero": ("power of two", "new copy"),
    "alignment_odd": ("power of two", "new copy"),
    "duplicate_tensor": ("tensor “t” appears twice", "new copy"),
    "duplicate_key": ("key “a” appears twice", "new copy"),
    "nested_array": ("array holds arrays", "new copy"),
    "unknown_value_type": ("value type 77", "new copy"),
    "unknown_tensor_type": ("“t” has the unknown type 999", "update"),
    "broken_rows": (r"impossible shape \[33\] for Q8_0", "new copy"),
    "misplaced_tensor": ("“t” does not begin where", "new copy"),
    "absurd_tensor_count": (f"announces {1 << 60} tensors", "new copy"),
    "absurd_metadata_count": (f"announces {1 << 60} metadata", "new copy"),
    "absurd_text_length": (f"announces {1 << 62} bytes", "new copy"),
    "absurd_array_length": (f"announces {1 << 61} array", "new copy"),
    "absurd_dimensions": ("200 dimensions", "new copy"),
    "absurd_shape": ("impossible shape", "new copy"),
    "absurd_name": ("5000 bytes long", "new copy"),
    "truncated_header": ("middle of its header, after 100 B", "resume"),
    # 44 of the missing bytes are padding behind the last tensor, which nobody needs
    "truncated_data": (r"incomplete: .* are there \(83 %\), 284 bytes are missing", "resume"),
    "missing_shard": ("3 parts; missing here: lost-00002-of-00003.gguf", "all parts"),
    "second_shard": ("part 2 of 3", "first part instead: parts-00001-of-00003.gguf"),
    "renamed_shard": ("part 1 of 3 .* name does not say so", "-00001-of-00003.gguf"),
    "foreign_shard": ("mixed-00003-of-00003.gguf is not part 3", "again"),
    "truncated_shard": ("cut-00003-of-00003.gguf is incomplete", "resume"),
}


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    return wrong_files(tmp_path_factory.mktemp("wrong"))


def _fault(path: Path) -> ModelFileError:
    with pytest.raises(ModelFileError) as fault:
        read_model(path)
    return fault.value


@pytest.mark.parametrize("kind", _SAID)
def test_fault_and_next_step(files: dict[str, Path], kind: str) -> None:
    if kind not in files:
        pytest.skip("this user may read everything")
    fault = _fault(files[kind])
    assert re.search(_SAID[kind][0], fault.fault)
    assert re.search(_SAID[kind][1], fault.next_step)
    assert fault.exit_code == 2


def test_every_wrong_file_has_its_own_fault(files: dict[str, Path]) -> None:
    assert set(files) | {"no_permission"} == set(_SAID)
    faults = {_fault(path).fault.removeprefix(path.name) for path in files.values()}
    same_fault_twice = {"alignment_zero", "alignment_odd"}
    assert len(faults) == len(files) - len(same_fault_twice) + 1


def test_denied_permission_is_named_for_any_user(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (path,) = write_gguf(tmp_path / "model.gguf")

    def refuse(*_: object) -> None:
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr(Path, "open", refuse)
    assert "permission" in _fault(path).fault


def test_failing_disk_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (path,) = write_gguf(tmp_path / "model.gguf")

    def fail(*_: object) -> None:
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(Path, "open", fail)
    fault = _fault(path)
    assert "Input/output error" in fault.fault
    assert "disk" in fault.next_step


def test_link_to_nothing_is_told_apart(tmp_path: Path) -> None:
    link = tmp_path / "model.gguf"
    link.symlink_to(tmp_path / "gone.gguf")
    assert "a link to a file that is gone" in _fault(link).fault


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_pipe_is_refused_without_waiting(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.gguf")
    assert "not a regular file" in _fault(tmp_path / "pipe.gguf").fault


@pytest.mark.parametrize("suffix", [".part", ".crdownload"])
def test_cut_off_download_under_its_working_name(tmp_path: Path, suffix: str) -> None:
    (path,) = write_gguf(tmp_path / "model.gguf")
    part = tmp_path / f"model.gguf{suffix}"
    part.write_bytes(path.read_bytes()[:-200])
    fault = _fault(part)
    assert "incomplete" in fault.fault
    assert "unfinished download" in fault.next_step


@pytest.mark.parametrize("name", ["田中　é 🔥.gguf", "a\nb.gguf", " .gguf", "no suffix", "model.GGUF"])
def test_any_name_works(tmp_path: Path, name: str) -> None:
    (path,) = write_gguf(tmp_path / "model.gguf")
    renamed = path.rename(tmp_path / name)
    assert read_model(renamed).path == renamed
    renamed.write_bytes(b"")
    assert name in _fault(renamed).fault


@pytest.mark.skipif(os.name == "nt", reason="names are text there")
def test_name_that_is_no_text_can_be_printed(tmp_path: Path) -> None:
    path = Path(os.fsdecode(os.fsencode(tmp_path) + b"/m\xff.gguf"))
    try:
        path.write_bytes(b"")
    except OSError:
        pytest.skip("this file system takes text only")
    assert "m\N{REPLACEMENT CHARACTER}.gguf" in str(_fault(path)).encode().decode()


@pytest.mark.parametrize(
    "raw",
    [
        RawGguf((entry("a", 9, b"\x08\0\0\0" + (1 << 21).to_bytes(8, "little")),)),
        RawGguf((entry("a", 9, b"\x08\0\0\0" + (1 << 31).to_bytes(8, "little")),)),
        RawGguf((entry("a", 8, (1 << 34).to_bytes(8, "little")),)),
        RawGguf(n_tensors=1 << 16),
        RawGguf(n_tensors=1 << 33),
        RawGguf(n_metadata=1 << 16),
        RawGguf(n_metadata=1 << 33),
    ],
)
def test_damaged_header_of_a_huge_file_costs_little(tmp_path: Path, raw: RawGguf) -> None:
    path = tmp_path / "huge.gguf"
    path.write_bytes(raw.content())
    os.truncate(path, 100 << 30)  # sparse; so the file's size does not bound the damaged length
    begun = time.process_time()
    _fault(path)
    assert time.process_time() - begun < 1
    tracemalloc.start()
    try:
        _fault(path)
        assert tracemalloc.get_traced_memory()[1] < 64 << 20
    finally:
        tracemalloc.stop()


def test_parts_that_lost_tensors_are_refused(tmp_path: Path) -> None:
    def part(number: int) -> bytes:
        split = (
            entry("split.no", 2, number.to_bytes(2, "little")),
            entry("split.count", 2, (2).to_bytes(2, "little")),
            entry("split.tensors.count", 5, (3).to_bytes(4, "little")),
        )
        head = entry("general.architecture", 8, text("llama"))
        return RawGguf((head, *split), (RawTensor(f"t{number}"),)).content()

    for number in range(2):
        (tmp_path / f"m-{number + 1:05d}-of-00002.gguf").write_bytes(part(number))
    assert "hold 2 tensors instead of 3" in _fault(tmp_path / "m-00001-of-00002.gguf").fault


def test_tensor_in_two_parts_is_refused(tmp_path: Path) -> None:
    for number in range(2):
        split = (
            entry("split.no", 2, number.to_bytes(2, "little")),
            entry("split.count", 2, (2).to_bytes(2, "little")),
        )
        (tmp_path / f"m-{number + 1:05d}-of-00002.gguf").write_bytes(RawGguf(split).content())
    assert "“t” appears twice" in _fault(tmp_path / "m-00001-of-00002.gguf").fault
