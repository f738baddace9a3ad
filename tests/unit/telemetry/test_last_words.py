"""Why llama.cpp ended the last run: kept once, and told with the device and the next step."""

from __future__ import annotations

from pathlib import Path

import pytest

from engine.telemetry.last_words import LastWords, explain, take_last_words

CUDA = "/src/ggml/src/ggml-cuda/ggml-cuda.cu:98: CUDA error"
LOG = "CUDA error: unspecified launch failure\n  current device: 1, in function ggml_cuda_op"


def test_words_are_taken_once(tmp_path: Path) -> None:
    words, path = LastWords(CUDA, LOG, ("CUDA0", "rpc:box:50052"), "model.gguf"), tmp_path / "words.json"
    LastWords("older and much longer words " * 100).write(path)
    words.write(path)
    assert take_last_words(path) == words
    assert take_last_words(path) is None


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b'{"message": 1}', b"\xff"])
def test_a_broken_file_is_no_words_and_goes(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "words.json"
    path.write_bytes(content)
    assert take_last_words(path) is None
    assert not path.exists()


@pytest.mark.parametrize(
    ("words", "device"),
    [
        (LastWords(CUDA, "", ("CUDA0",)), "CUDA0"),
        (LastWords(CUDA, LOG, ("CUDA0", "CUDA1", "rpc:box:1")), "CUDA1"),
        (LastWords(CUDA, "", ("CUDA0", "CUDA1")), "CUDA0, CUDA1"),
        (LastWords("ggml-vulkan.cpp:12: device lost", LOG, ("CUDA1", "Vulkan0")), "Vulkan0"),
    ],
)
def test_the_device_is_named(words: LastWords, device: str) -> None:
    end = explain(words)
    assert f"the device “{device}” failed" in end.fault
    assert "What was written is kept" in end.next_step
    assert "without that device" in end.next_step


@pytest.mark.parametrize(
    "words",
    [
        LastWords("/src/ggml/src/ggml.c:1: GGML_ASSERT(a) failed", LOG, ("CUDA0",), "big.gguf"),
        LastWords("/src/ggml-cpu/ops.cpp:1: fatal error", "", ("CUDA0",), "big.gguf"),
        LastWords(CUDA, "", (), "big.gguf"),
    ],
)
def test_no_device_is_blamed_for_what_it_did_not_do(words: LastWords) -> None:
    end = explain(words)
    assert "device" not in end.fault
    assert "big.gguf" in end.fault
    assert words.message in end.detail
    assert "What was written is kept" in end.next_step


def test_the_place_in_the_source_is_only_a_detail() -> None:
    end = explain(LastWords(CUDA, LOG, ("CUDA0", "CUDA1"), "big.gguf"))
    assert "CUDA error." in end.fault
    assert "ggml-cuda.cu" not in end.fault
    assert LOG in end.detail
