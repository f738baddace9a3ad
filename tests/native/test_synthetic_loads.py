"""Every synthetic layout runs on stock llama.cpp, and its experts matter."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from functools import cache
from pathlib import Path

import llama_cpp
import numpy as np
import pytest
from gguf import GGUFReader
from llama_cpp import Llama
from numpy.typing import NDArray

from tests.support.models import TINY_VARIANTS

TOKENS = (104, 101, 108, 112, 32, 109, 33, 257)  # "help m!" and a control token: all different

Models = Callable[..., Path]
Logits = NDArray[np.float32]


@cache
def _logits(path: Path) -> Logits:
    """Stock llama.cpp's logits after each of TOKENS, decoded one by one; shape (tokens, vocabulary)."""
    model = Llama(str(path), n_ctx=256, n_threads=2, verbose=False)
    try:
        rows = []
        for token in TOKENS:
            model.eval([token])
            pointer = llama_cpp.llama_get_logits_ith(model.ctx, -1)
            rows.append(np.ctypeslib.as_array(pointer, (model.n_vocab(),)).copy())
        return np.stack(rows)
    finally:
        model.close()


@pytest.mark.parametrize("layout", TINY_VARIANTS)
def test_stock_llama_cpp_decodes_sane_logits(tiny_models: Models, layout: str) -> None:
    logits = _logits(tiny_models(layout))
    assert np.isfinite(logits).all()
    # normalised hidden states times output weights of three standard deviations
    assert logits[:, :256].std(axis=1) == pytest.approx(np.full(len(TOKENS), 3.0), rel=0.25)
    # control tokens are given logit 0
    assert not logits[:, 256:].any()
    # hidden states of different tokens must not collapse into one, or all would choose the same experts
    similarity = np.corrcoef(logits[:, :256]) - np.eye(len(TOKENS))
    assert similarity.max() < 0.8


def test_deepseek_of_the_lite_depth_decodes(tiny_models: Models) -> None:
    assert np.isfinite(
        _logits(tiny_models("deepseek2", n_layer=27, n_expert=4, top_k=2, n_embd=64, n_ff=32))
    ).all()


def test_vocabulary_tokenizes_bytes_and_chat_markers(tiny_models: Models) -> None:
    model = Llama(str(tiny_models("llama")), vocab_only=True, verbose=False)
    try:
        text = "<|im_start|>aé\n<|im_end|>".encode()
        tokens = model.tokenize(text, add_bos=False, special=True)
        assert tokens == [257, 97, 0xC3, 0xA9, 10, 258]
        assert model.detokenize(tokens, special=True) == text
        assert (model.token_eos(), model.token_bos()) == (256, 256)
    finally:
        model.close()


def test_shards_decode_to_the_logits_of_one_file(tiny_models: Models) -> None:
    assert np.array_equal(_logits(tiny_models("sharded")), _logits(tiny_models("qwen3moe")))


ROUTED = [
    (name, "down") for name in TINY_VARIANTS if name not in ("llama", "gemma4-dense", "gemma3n", "sharded")
]


@pytest.mark.parametrize(
    ("layout", "projection"),
    [*ROUTED, ("qwen3moe", "gate"), ("qwen3moe", "up"), ("deepseek2-merged", "gate_up")],
)
def test_swapping_two_experts_changes_the_logits(
    tiny_models: Models, tmp_path: Path, layout: str, projection: str
) -> None:
    path = tiny_models(layout)
    swapped = shutil.copy(path, tmp_path / path.name)
    for tensor in GGUFReader(swapped, "r+").tensors:
        if tensor.name.endswith(f".ffn_{projection}_exps.weight"):
            tensor.data[[0, 1]] = tensor.data[[1, 0]]
    # far above rounding: a wrong expert must never pass for the right one
    assert np.abs(_logits(swapped) - _logits(path)).max() > 0.5


@pytest.mark.parametrize("layout", ["gemma4", "gemma4-dense"])
def test_swapping_two_rows_of_the_per_layer_table_changes_their_tokens(
    tiny_models: Models, tmp_path: Path, layout: str
) -> None:
    path = tiny_models(layout)
    swapped = shutil.copy(path, tmp_path / path.name)
    for tensor in GGUFReader(swapped, "r+").tensors:
        if tensor.name == "per_layer_token_embd.weight":
            tensor.data[[TOKENS[3], 7]] = tensor.data[[7, TOKENS[3]]]
    changes = np.abs(_logits(swapped) - _logits(path)).max(axis=1)
    assert not changes[:3].any()
    assert changes[3] > 0.5
