"""What gemma4 has beside a plain transformer: per-layer token embeddings, windowed layers, many norms."""

from __future__ import annotations

from collections.abc import Iterator

from engine.gguf.synthetic_build import Build
from engine.gguf.synthetic_spec import Fill, Metadata, SyntheticSpec, TensorPlan

_WINDOW_TOKENS = 128
_NORMS = ("post_attention_norm", "post_ffw_norm", "post_norm")
_EXPERT_NORMS = ("pre_ffw_norm_2", "post_ffw_norm_1", "post_ffw_norm_2")


def metadata(spec: SyntheticSpec) -> Metadata:
    """Keys below the architecture's prefix; every second layer sees a window only."""
    return {
        "embedding_length_per_layer_input": spec.embd_per_layer,
        "attention.sliding_window": _WINDOW_TOKENS,
        "attention.sliding_window_pattern": tuple(layer % 2 == 0 for layer in range(spec.n_layer)),
        "attention.key_length_swa": spec.head_dim,
        "attention.value_length_swa": spec.head_dim,
        "rope.dimension_count_swa": spec.head_dim,
        "rope.freq_base_swa": 1e4,
    }


def input_tensors(build: Build) -> Iterator[TensorPlan]:
    """The per-layer embeddings (one row per token, all layers in it) and what mixes them with the input."""
    spec = build.spec
    width = spec.embd_per_layer * spec.n_layer
    # llama.cpp multiplies a layer's part of a row by the root of its length
    yield build.weight("per_layer_token_embd", spec.n_vocab, width, scale=spec.embd_per_layer**-0.5)
    yield build.weight("per_layer_model_proj", width, spec.n_embd)
    yield build.ones("per_layer_proj_norm", spec.embd_per_layer)
    if spec.n_layer > 1:  # layers without a window share them
        yield build.ones("rope_freqs", spec.head_dim // 2)


def layer_tensors(build: Build, at: str) -> Iterator[TensorPlan]:
    """All of a layer but attention, shared feed-forward and experts."""
    spec = build.spec
    for norm in _NORMS if spec.is_dense else (*_NORMS, *_EXPERT_NORMS):
        yield build.ones(f"{at}{norm}", spec.n_embd)
    yield build.weight(f"{at}inp_gate", spec.embd_per_layer, spec.n_embd)
    yield build.weight(f"{at}proj", spec.n_embd, spec.embd_per_layer)
    if not spec.is_dense:
        yield TensorPlan(f"{at}ffn_gate_inp.scale", (spec.n_embd,), "F32", Fill.ONES)
