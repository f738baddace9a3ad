"""Synthetic model files, read back with the gguf package's own reader."""

from __future__ import annotations

import errno
from collections import namedtuple
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from gguf import GGUFReader, ReaderTensor, dequantize

from engine.errors import EngineError, UsageError
from engine.gguf import synthetic
from engine.gguf.synthetic import SyntheticSpec, model_bytes, write_model
from tests.support.models import TINY_VARIANTS, Field, tiny_spec

Value = str | int | float | bool | list[str] | list[int]


def _write(directory: Path, layout: str = "qwen3moe", /, **overrides: Field) -> Path:
    return write_model(tiny_spec(layout, **overrides), directory / "model.gguf")[0]


def _tensors(path: Path) -> dict[str, ReaderTensor]:
    return {tensor.name: tensor for tensor in GGUFReader(path).tensors}


def _values(tensor: ReaderTensor) -> np.ndarray[Any, np.dtype[np.float32]]:
    return dequantize(tensor.data, tensor.tensor_type)


def _field(path: Path, key: str) -> Value:
    return GGUFReader(path).fields[key].contents()


def test_expert_tensors_have_the_asked_shape_and_type(tmp_path: Path) -> None:
    tensors = _tensors(_write(tmp_path, n_layer=2, n_expert=8, n_embd=64, n_ff=96))
    assert tensors["blk.1.ffn_gate_exps.weight"].shape.tolist() == [64, 96, 8]
    assert tensors["blk.1.ffn_up_exps.weight"].shape.tolist() == [64, 96, 8]
    assert tensors["blk.1.ffn_down_exps.weight"].shape.tolist() == [96, 64, 8]
    assert tensors["blk.1.ffn_down_exps.weight"].tensor_type.name == "Q4_0"
    assert "blk.2.attn_norm.weight" not in tensors


def test_metadata_says_the_shape_and_that_it_is_synthetic(tmp_path: Path) -> None:
    path = _write(tmp_path)
    assert _field(path, "general.architecture") == "qwen3moe"
    assert _field(path, "qwen3moe.expert_count") == 16
    assert _field(path, "qwen3moe.expert_used_count") == 4
    assert "synthetic" in _field(path, "general.name")
    assert "no meaning" in _field(path, "general.description")


def test_vocabulary_spells_every_byte_once(tmp_path: Path) -> None:
    path = _write(tmp_path)
    tokens = _field(path, "tokenizer.ggml.tokens")
    assert tokens[ord("A")] == "A"
    assert tokens[ord(" ")] == "Ġ"
    assert len(set(tokens)) == 259
    assert tokens[256:] == ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
    assert _field(path, "tokenizer.ggml.token_type")[255:] == [1, 3, 3, 3]


@pytest.mark.parametrize(
    "type_name",
    ["F32", "F16", "BF16", "Q4_0", "Q5_1", "Q8_0", "MXFP4", "Q2_K", "Q4_K", "Q5_K", "Q6_K", "IQ4_NL"],
)
def test_blocks_of_every_type_are_centred_with_unit_gain(tmp_path: Path, type_name: str) -> None:
    path = _write(tmp_path, n_layer=1, n_ff=256, expert_type=type_name)
    tensor = _tensors(path)["blk.0.ffn_up_exps.weight"]
    values = _values(tensor)
    assert tensor.tensor_type.name == type_name
    assert values.std() == pytest.approx(256**-0.5, rel=0.1)
    # a mean of a hundredth of the deviation adds up to less than a sixth of it over a row of 256
    assert abs(values.mean()) < 0.01 * values.std()


def test_every_expert_differs_from_every_other(tmp_path: Path) -> None:
    path = _write(tmp_path, n_layer=1, n_expert=128, n_embd=64, n_ff=32)
    for name in ("gate", "up", "down"):
        experts = _tensors(path)[f"blk.0.ffn_{name}_exps.weight"].data
        assert len({expert.tobytes() for expert in experts}) == 128


def test_seed_decides_every_byte(tmp_path: Path) -> None:
    files = [_write(tmp_path / name, seed=seed) for name, seed in _made(tmp_path, a=1, b=1, c=2)]
    first, same, other = (file.read_bytes() for file in files)
    assert first == same
    assert first != other


def _made(root: Path, **seeds: int) -> Sequence[tuple[str, int]]:
    for name in seeds:
        (root / name).mkdir()
    return tuple(seeds.items())


def test_shards_hold_the_same_tensors_as_one_file(tmp_path: Path) -> None:
    whole = {name: tensor.data.tobytes() for name, tensor in _tensors(_write(tmp_path)).items()}
    paths = write_model(tiny_spec("qwen3moe", shards=3), tmp_path / "cut.gguf")
    assert [path.name for path in paths] == [f"cut-0000{i}-of-00003.gguf" for i in (1, 2, 3)]
    parts = [{name: t.data.tobytes() for name, t in _tensors(path).items()} for path in paths]
    assert parts[0] | parts[1] | parts[2] == whole
    assert all(len(part) < len(whole) for part in parts)
    assert [_field(path, "split.no") for path in paths] == [0, 1, 2]
    assert {_field(path, "split.count") for path in paths} == {3}
    assert {_field(path, "split.tensors.count") for path in paths} == {len(whole)}


def test_as_many_shards_as_tensors_leave_none_empty(tmp_path: Path) -> None:
    n_tensors = len(_tensors(_write(tmp_path, n_layer=1)))
    paths = write_model(tiny_spec("qwen3moe", n_layer=1, shards=n_tensors), tmp_path / "cut.gguf")
    assert [len(_tensors(path)) for path in paths] == [1] * n_tensors


def test_down_types_take_turns_over_the_layers(tmp_path: Path) -> None:
    tensors = _tensors(_write(tmp_path, "mixed", n_layer=6))
    types = [tensors[f"blk.{layer}.ffn_down_exps.weight"].tensor_type.name for layer in range(6)]
    assert types == ["Q6_K", "Q4_K", "Q8_0", "Q5_K", "Q6_K", "Q4_K"]
    assert tensors["blk.0.ffn_up_exps.weight"].tensor_type.name == "Q4_K"


def test_merged_layout_holds_gate_and_up_in_one_tensor(tmp_path: Path) -> None:
    tensors = _tensors(_write(tmp_path, "deepseek2-merged"))
    assert tensors["blk.1.ffn_gate_up_exps.weight"].shape.tolist() == [256, 256, 16]
    assert not any("ffn_gate_exps" in name or "ffn_up_exps" in name for name in tensors)


def test_deepseek_leads_with_a_dense_layer(tmp_path: Path) -> None:
    tensors = _tensors(_write(tmp_path, "deepseek2"))
    experts = {name.split(".")[1] for name in tensors if "_exps" in name}
    assert experts == {"1", "2", "3"}
    assert "blk.0.ffn_gate.weight" in tensors
    assert "blk.1.ffn_gate_shexp.weight" in tensors


def test_gpt_oss_has_a_bias_per_expert(tmp_path: Path) -> None:
    tensors = _tensors(_write(tmp_path, "gpt-oss"))
    assert tensors["blk.0.ffn_gate_exps.bias"].shape.tolist() == [128, 16]
    assert tensors["blk.0.ffn_down_exps.bias"].shape.tolist() == [256, 16]
    assert np.ptp(tensors["blk.0.ffn_up_exps.bias"].data) > 0


def test_gemma4_has_a_row_for_all_layers_per_token(tmp_path: Path) -> None:
    path = _write(tmp_path, "gemma4", n_layer=3, embd_per_layer=64, n_vocab=300)
    tensors = _tensors(path)
    assert tensors["per_layer_token_embd.weight"].shape.tolist() == [3 * 64, 300]
    assert tensors["blk.2.ffn_down_exps.weight"].shape.tolist() == [128, 256, 16]
    assert _field(path, "gemma4.attention.sliding_window_pattern") == [True, False, True]
    dense = _tensors(_write(tmp_path, "gemma4-dense", n_layer=3, embd_per_layer=64, n_vocab=300))
    assert dense["per_layer_token_embd.weight"].shape.tolist() == [3 * 64, 300]
    assert not [name for name in dense if "exps" in name or "gate_inp" in name]


def test_gemma3n_has_a_row_for_all_layers_per_token_and_no_experts(tmp_path: Path) -> None:
    path = _write(tmp_path, "gemma3n", n_layer=3, n_vocab=300)
    tensors = _tensors(path)
    assert tensors["per_layer_token_embd.weight"].shape.tolist() == [3 * 256, 300]
    assert tensors["altup_proj.weight"].shape.tolist() == [256, 256, 3]
    assert _field(path, "general.architecture") == "gemma3n"
    assert not [name for name in tensors if "exps" in name or "gate_inp" in name]


def test_tokens_beyond_the_usual_ones_are_unused_and_never_answered(tmp_path: Path) -> None:
    path = _write(tmp_path, n_vocab=262)
    assert len(set(_field(path, "tokenizer.ggml.tokens"))) == 262
    assert _field(path, "tokenizer.ggml.token_type")[255:] == [1, 3, 3, 3, 5, 5, 5]
    rows = _values(_tensors(path)["output.weight"])
    assert rows.shape[0] == 262
    assert not rows[256:].any()


def test_control_tokens_have_zero_output_rows(tmp_path: Path) -> None:
    rows = _values(_tensors(_write(tmp_path))["output.weight"])
    assert not rows[256:].any()
    assert (np.abs(rows[:256]).max(axis=1) > 0).all()


def _traffic(path: Path, top_k: int) -> np.ndarray[Any, np.dtype[np.int64]]:
    """How often each expert of layer 0 is among the top-k for normal random hidden states."""
    router = _tensors(path)["blk.0.ffn_gate_inp.weight"].data
    hidden = np.random.default_rng(7).standard_normal((4000, router.shape[1]))
    chosen = np.argsort(hidden @ router.T, axis=1)[:, -top_k:]
    return np.bincount(chosen.ravel(), minlength=router.shape[0])


def test_routing_is_spread_without_skew_and_lopsided_with_it(tmp_path: Path) -> None:
    (tmp_path / "skewed").mkdir()
    even = _traffic(_write(tmp_path, n_layer=1, n_expert=64), 4)
    skewed = _traffic(_write(tmp_path / "skewed", n_layer=1, n_expert=64, skew=0.5), 4)
    # 4 of 64 experts: 250 visits each on average
    assert even.min() > 125
    assert even.max() < 500
    assert skewed.max() > 1000
    assert skewed.min() < 50


@pytest.mark.parametrize("layout", TINY_VARIANTS)
def test_announced_bytes_are_the_bytes_of_all_tensors(tmp_path: Path, layout: str) -> None:
    spec = tiny_spec(layout)
    written = sum(
        t.n_bytes for path in write_model(spec, tmp_path / "m.gguf") for t in GGUFReader(path).tensors
    )
    assert model_bytes(spec) == written


def test_progress_rises_to_the_total(tmp_path: Path) -> None:
    reports: list[tuple[int, int]] = []
    spec = tiny_spec("sharded")
    write_model(spec, tmp_path / "m.gguf", lambda done, total: reports.append((done, total)))
    done = [report[0] for report in reports]
    assert done == sorted(set(done))
    assert reports[-1] == (model_bytes(spec), model_bytes(spec))


def test_an_interrupted_write_leaves_nothing_and_keeps_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "m.gguf"
    path.write_bytes(b"old")

    def stop(done_bytes: int, total_bytes: int) -> None:
        if done_bytes > total_bytes // 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_model(tiny_spec("qwen3moe"), path, stop)
    assert [(p.name, p.read_bytes()) for p in tmp_path.iterdir()] == [("m.gguf", b"old")]


def test_a_disk_that_fills_up_is_named_and_leaves_nothing(tmp_path: Path) -> None:
    def fill_up(done_bytes: int, total_bytes: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    with pytest.raises(EngineError, match=r"disk is full.*Free some space"):
        write_model(tiny_spec("qwen3moe"), tmp_path / "m.gguf", fill_up)
    assert list(tmp_path.iterdir()) == []


def test_too_small_a_disk_is_refused_before_writing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    usage = namedtuple("usage", "free")
    monkeypatch.setattr(synthetic.shutil, "disk_usage", lambda _path: usage(1 << 20))
    with pytest.raises(EngineError, match="only 1 MiB are free"):
        write_model(tiny_spec("qwen3moe"), tmp_path / "m.gguf")
    assert list(tmp_path.iterdir()) == []


def test_a_missing_folder_is_named(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no folder"):
        write_model(tiny_spec("qwen3moe"), tmp_path / "nowhere" / "m.gguf")


def test_a_folder_in_the_file_s_place_is_refused(tmp_path: Path) -> None:
    (tmp_path / "m.gguf").mkdir()
    with pytest.raises(EngineError, match=r"m\.gguf"):
        write_model(tiny_spec("qwen3moe"), tmp_path / "m.gguf")
    assert [p.name for p in tmp_path.iterdir()] == ["m.gguf"]


@pytest.mark.parametrize(
    ("overrides", "words"),
    [
        ({"layout": "gpt2"}, "not a known layout"),
        ({"top_k": 17}, "top_k"),
        ({"n_layer": 0}, "n_layer"),
        ({"skew": -1.0}, "skew"),
        ({"seed": -1}, "seed"),
        ({"n_vocab": 258}, "n_vocab"),
        ({"embd_per_layer": 0}, "embd_per_layer"),
        ({"heads": -1}, "heads"),
        ({"n_expert": 4096}, "at most"),
        ({"heads": 4, "kv_heads": 3}, "kv_heads"),
        ({"expert_type": "IQ1_S"}, "IQ1_S"),
        ({"down_types": ("Q4_0", "nonsense")}, "nonsense"),
    ],
)
def test_bad_specs_are_refused_by_name(overrides: dict[str, Any], words: str) -> None:
    with pytest.raises(UsageError, match=words):
        tiny_spec("qwen3moe", **overrides)


@pytest.mark.parametrize(
    ("overrides", "words"),
    [
        ({"n_embd": 200}, "200 values"),
        ({"n_ff": 128, "expert_type": "Q4_K"}, "blocks of 256"),
        ({"layout": "qwen2moe", "n_embd": 160, "heads": 3, "kv_heads": 1}, "3 heads"),
        ({"n_layer": 1, "shards": 1000}, "1000 shards"),
    ],
)
def test_impossible_tensors_are_refused_before_writing(
    tmp_path: Path, overrides: dict[str, Any], words: str
) -> None:
    with pytest.raises(UsageError, match=words):
        write_model(tiny_spec("qwen3moe", **overrides), tmp_path / "m.gguf")
    assert list(tmp_path.iterdir()) == []


def test_type_names_may_be_written_in_small_letters(tmp_path: Path) -> None:
    tensors = _tensors(_write(tmp_path, expert_type="q8_0"))
    assert tensors["blk.0.ffn_up_exps.weight"].tensor_type.name == "Q8_0"


def test_defaults_have_the_shape_of_a_30b_model_cut_to_twelve_layers() -> None:
    spec = SyntheticSpec()
    assert (spec.n_heads, spec.n_kv_heads, spec.head_dim) == (32, 4, 128)
    # 12 layers * 128 experts * 3 slices of 2048 * 768 values, 18 bytes per 32 of them
    assert model_bytes(spec) > 12 * 128 * 3 * 2048 * 768 // 32 * 18
