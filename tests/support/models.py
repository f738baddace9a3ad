"""Tiny model files for tests: written once per directory, then shared."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from engine.gguf.synthetic import SyntheticSpec, write_model

Field = int | float | str | tuple[str, ...]

_SHAPE: dict[str, Any] = {"n_layer": 4, "n_expert": 16, "top_k": 4, "n_embd": 256, "n_ff": 128}

# besides the layouts themselves: variants that differ in types, alignment or files
TINY_VARIANTS: dict[str, dict[str, Any]] = {
    "qwen3moe": {},
    "qwen2moe": {"layout": "qwen2moe"},
    "deepseek2": {"layout": "deepseek2"},
    "deepseek2-merged": {"layout": "deepseek2-merged"},
    "gpt-oss": {"layout": "gpt-oss"},
    "gpt-oss-mxfp4": {"layout": "gpt-oss", "expert_type": "MXFP4", "dense_type": "Q8_0"},
    "llama": {"layout": "llama"},
    # down projections of four types, hence four classes of layers
    "mixed": {
        "n_ff": 256,
        "expert_type": "Q4_K",
        "dense_type": "Q8_0",
        "down_types": ("Q6_K", "Q4_K", "Q8_0", "Q5_K"),
    },
    # 17,280 bytes per slice: no multiple of a page
    "uneven": {"n_embd": 320, "n_ff": 96},
    "gemma4": {"layout": "gemma4", "dense_type": "Q8_0"},
    "gemma4-dense": {"layout": "gemma4-dense", "dense_type": "Q8_0"},
    "gemma3n": {"layout": "gemma3n", "dense_type": "Q8_0"},
    "sharded": {"shards": 3},
}


def tiny_spec(layout: str, /, **overrides: Field) -> SyntheticSpec:
    """Spec of one of `TINY_VARIANTS`, a few megabytes; `overrides` are fields of `SyntheticSpec`."""
    return SyntheticSpec(**{**_SHAPE, **TINY_VARIANTS[layout], **overrides})


def tiny_model(layout: str, directory: Path, /, **overrides: Field) -> Path:
    """First file of the tiny model in `directory`; written on the first call with these arguments."""
    spec = tiny_spec(layout, **overrides)
    changes = "".join(f"_{name}-{value}" for name, value in sorted(overrides.items()))
    path = directory / f"{layout}{changes}.gguf"
    first = path if spec.shards == 1 else path.with_name(f"{path.stem}-00001-of-{spec.shards:05d}.gguf")
    if not first.exists():
        write_model(spec, path)
    return first
