"""What gemma3n has beside a plain transformer: per-layer token embeddings, alternating inputs, bypasses."""

from __future__ import annotations

from collections.abc import Iterator

from engine.gguf.synthetic_build import Build
from engine.gguf.synthetic_spec import Metadata, SyntheticSpec, TensorPlan

# fixed in llama.cpp, not said by files
_N_INPUTS, _BYPASS_RANK, EMBD_PER_LAYER = 4, 64, 256
_WINDOW_TOKENS = 128
_COEFFICIENT_SCALE = 0.1  # inputs stay mostly what they are


def metadata(_: SyntheticSpec) -> Metadata:
    """Keys below the architecture's prefix; four of five layers see a window only."""
    return {"attention.sliding_window": _WINDOW_TOKENS, "rope.freq_base_swa": 1e4}


def input_tensors(build: Build) -> Iterator[TensorPlan]:
    """The per-layer embeddings, what mixes them with the input, and what makes four inputs of one."""
    spec = build.spec
    width = EMBD_PER_LAYER * spec.n_layer
    # llama.cpp multiplies a layer's part of a row by the root of its length
    yield build.weight("per_layer_token_embd", spec.n_vocab, width, scale=EMBD_PER_LAYER**-0.5)
    yield build.weight("per_layer_model_proj", width, spec.n_embd)
    yield build.ones("per_layer_proj_norm", EMBD_PER_LAYER)
    for name in ("altup_proj", "altup_unembd_proj"):
        yield build.weight(name, _N_INPUTS - 1, spec.n_embd, spec.n_embd)


def layer_tensors(build: Build, at: str) -> Iterator[TensorPlan]:
    """All of a layer but attention and feed-forward."""
    n_embd = build.spec.n_embd
    for norm in (
        "post_attention_norm",
        "post_ffw_norm",
        "post_norm",
        "altup_router_norm",
        "laurel_post_norm",
    ):
        yield build.ones(f"{at}{norm}", n_embd)
    yield build.ones(f"{at}altup_correct_scale", n_embd)
    yield build.weight(f"{at}inp_gate", EMBD_PER_LAYER, n_embd)
    yield build.weight(f"{at}proj", n_embd, EMBD_PER_LAYER)
    yield build.weight(f"{at}laurel_l", _BYPASS_RANK, n_embd)
    yield build.weight(f"{at}laurel_r", n_embd, _BYPASS_RANK)
    yield build.normal(f"{at}altup_router.weight", _N_INPUTS, n_embd)
    for name, count in (("correct", _N_INPUTS), ("predict", _N_INPUTS**2)):
        yield build.normal(f"{at}altup_{name}_coef.weight", count, _N_INPUTS, scale=_COEFFICIENT_SCALE)
