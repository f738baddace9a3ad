"""ggml's abort() in a process of its own: the process ends, its last words stay."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

from engine.telemetry.last_words import explain, take_last_words
from tests.native.conftest import TinyModels
from tests.support.device_server import serving_device

_DYING = """
import sys
from pathlib import Path
from engine.backends.base import CancelToken
from engine.backends.llama_cpp import LlamaCppBackend
from engine.config import LoadSettings
from engine.native.library import ggml_base

model, words, *devices = sys.argv[1:]
backend = LlamaCppBackend(Path(words))
settings = LoadSettings(Path(model), devices=tuple(devices), threads=1)
backend.load(settings, lambda _: None, CancelToken())
print("loaded", flush=True)
ggml_base().ggml_abort(b"/src/ggml-rpc/ggml-rpc.cpp", 7, b"%s", b"the link broke")
"""


def test_the_message_and_the_device_are_told_at_the_next_start(
    tiny_models: TinyModels, tmp_path: Path
) -> None:
    words, model = tmp_path / "last_words.json", tiny_models("qwen3moe")
    with serving_device() as server:
        process = subprocess.run(
            [sys.executable, "-c", _DYING, str(model), str(words), server.name],
            capture_output=True, text=True, timeout=120, check=False,
        )  # fmt: skip
    assert process.stdout == "loaded\n"
    assert process.returncode == -signal.SIGABRT
    assert "ggml-rpc.cpp:7: the link broke" in process.stderr  # as without us
    left = take_last_words(words)
    assert left is not None
    assert left.message == "/src/ggml-rpc/ggml-rpc.cpp:7: the link broke"
    assert (left.devices, left.model) == ((server.name,), model.name)
    assert f"the device “{server.name}” failed: the link broke." in explain(left).fault


def test_a_run_that_ends_well_leaves_no_words(tiny_models: TinyModels, tmp_path: Path) -> None:
    words = tmp_path / "last_words.json"
    well = _DYING.rpartition("ggml_base")[0] + "backend.unload()\n"
    subprocess.run(
        [sys.executable, "-c", well, str(tiny_models("qwen3moe")), str(words)],
        capture_output=True, timeout=120, check=True,
    )  # fmt: skip
    assert not words.exists()
