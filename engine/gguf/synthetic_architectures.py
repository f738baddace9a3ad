"""Tensors and metadata that llama.cpp expects of each layout a synthetic model can have."""

from __future__ import annotations

from collections.abc import Iterator

from engine.errors import UsageError
from engine.gguf import synthetic_gemma3n as gemma3n
from engine.gguf import synthetic_gemma4 as gemma4
from engine.gguf.synthetic_build import Build
from engine.gguf.synthetic_spec import Metadata, SyntheticSpec, TensorPlan
from engine.gguf.synthetic_vocabulary import BYTE_TOKENS

# DeepSeek's latent attention: ranks of the compressed query and key/value, and sizes per head
_QUERY_RANK, _KEY_VALUE_RANK, _NOPE_DIM, _ROPE_DIM, _VALUE_DIM = 256, 256, 128, 64, 128
# llama.cpp takes DeepSeek models of so many layers for the "lite" ones, whose queries are not compressed
_LITE_LAYERS = (26, 27)
_LEADING_DENSE_LAYERS = 1
_DENSE_FF_FACTOR = 4  # a leading dense layer is as wide as several experts
_SIGMOID_GATING = 2


def architecture(spec: SyntheticSpec) -> str:
    """llama.cpp's name of the layout's architecture."""
    return spec.layout.removesuffix("-merged").removesuffix("-dense")


def tensors(spec: SyntheticSpec) -> tuple[TensorPlan, ...]:
    """Every tensor in file order; raises UsageError when a row can't be cut into the type's blocks."""
    build = Build(spec)
    plans = [
        build.weight("token_embd", spec.n_vocab, spec.n_embd, scale=_embedding_scale(spec)),
        build.ones("output_norm", spec.n_embd),
    ]
    # tokens that are no bytes get logit 0, so random answers practically never stop by chance
    output = build.weight(
        "output",
        spec.n_vocab,
        spec.n_embd,
        scale=3 * spec.n_embd**-0.5,
        blank_rows=spec.n_vocab - BYTE_TOKENS,
    )
    if not spec.is_tied:
        plans.append(output)
    if architecture(spec) == "gemma4":
        plans += gemma4.input_tensors(build)
    elif spec.layout == "gemma3n":
        plans += gemma3n.input_tensors(build)
    for layer in range(spec.n_layer):
        plans += _layer(build, layer)
    for plan in plans:
        _ = plan.size_bytes  # refuses rows that blocks don't divide
    return tuple(plans)


def metadata(spec: SyntheticSpec) -> Metadata:
    """Keys below the architecture's prefix; a tuple has one value per layer."""
    keys: Metadata = {
        "block_count": spec.n_layer,
        "context_length": spec.context_tokens,
        "embedding_length": spec.n_embd,
        "feed_forward_length": spec.n_ff,
        "attention.head_count": spec.n_heads,
        "attention.head_count_kv": spec.n_kv_heads,
        "attention.layer_norm_rms_epsilon": 1e-6,
        "rope.freq_base": 1e6,
    }
    head_dim = _head_dim(spec)
    keys |= {f"attention.{part}_length": head_dim for part in ("key", "value")}
    keys["rope.dimension_count"] = head_dim
    if not spec.is_dense:
        keys |= {"expert_count": spec.n_expert, "expert_used_count": spec.top_k}
        keys["expert_feed_forward_length"] = spec.n_ff
    return keys | _special_keys(spec)


def _special_keys(spec: SyntheticSpec) -> Metadata:
    match architecture(spec):
        case "qwen2moe":
            return {"expert_shared_feed_forward_length": 2 * spec.n_ff}
        case "gpt-oss":
            return {"attention.sliding_window": 128}
        case "gemma4":
            return gemma4.metadata(spec)
        case "gemma3n":
            return gemma3n.metadata(spec)
        case "deepseek2":
            return {
                "feed_forward_length": _DENSE_FF_FACTOR * spec.n_ff,
                "leading_dense_block_count": _LEADING_DENSE_LAYERS,
                "expert_shared_count": 1,
                "expert_weights_scale": 2.5,
                "expert_weights_norm": True,
                "expert_gating_func": _SIGMOID_GATING,
                "attention.q_lora_rank": _QUERY_RANK,
                "attention.kv_lora_rank": _KEY_VALUE_RANK,
                # latent attention caches one compressed key and value for all heads
                "attention.head_count_kv": 1,
                "attention.key_length": _KEY_VALUE_RANK + _ROPE_DIM,
                "attention.value_length": _KEY_VALUE_RANK,
                "attention.key_length_mla": _NOPE_DIM + _ROPE_DIM,
                "attention.value_length_mla": _VALUE_DIM,
                "rope.dimension_count": _ROPE_DIM,
            }
    return {}


def _embedding_scale(spec: SyntheticSpec) -> float:
    """The gemmas multiply token embeddings by the root of their width."""
    return spec.n_embd**-0.5 if architecture(spec).startswith("gemma") else 1.0


def _head_dim(spec: SyntheticSpec) -> int:
    if spec.layout != "qwen2moe":
        return spec.head_dim
    if spec.n_embd % (2 * spec.n_heads):
        raise UsageError(
            f"qwen2moe splits {spec.n_embd} embedding values evenly over its {spec.n_heads} heads.",
            "Choose an embedding size that is a multiple of twice the heads.",
        )
    return spec.n_embd // spec.n_heads


def _layer(build: Build, layer: int) -> Iterator[TensorPlan]:
    spec, at = build.spec, f"blk.{layer}."
    yield build.ones(f"{at}attn_norm", spec.n_embd)
    match architecture(spec):
        case "deepseek2":
            yield from _latent_attention(build, at)
        case _:
            yield from _attention(build, at)
    norm = "post_attention_norm" if spec.layout == "gpt-oss" else "ffn_norm"
    yield build.ones(f"{at}{norm}", spec.n_embd)
    if architecture(spec) == "gemma4":
        yield from gemma4.layer_tensors(build, at)
        yield from _feed_forward(build, at, spec.n_ff)
    if spec.layout == "gemma3n":
        yield from gemma3n.layer_tensors(build, at)
    if spec.layout in ("llama", "gemma3n"):
        yield from _feed_forward(build, at, spec.n_ff)
    elif architecture(spec) == "deepseek2" and layer < _LEADING_DENSE_LAYERS:
        yield from _feed_forward(build, at, _DENSE_FF_FACTOR * spec.n_ff)
    elif not spec.is_dense:
        yield from _experts(build, at, layer)


def _attention(build: Build, at: str) -> Iterator[TensorPlan]:
    spec, head_dim = build.spec, _head_dim(build.spec)
    queries, keys = spec.n_heads * head_dim, spec.n_kv_heads * head_dim
    for name, size in (("q", queries), ("k", keys), ("v", keys)):
        yield build.weight(f"{at}attn_{name}", size, spec.n_embd)
        if spec.layout in ("qwen2moe", "gpt-oss"):
            yield build.normal(f"{at}attn_{name}.bias", size)
    yield build.weight(f"{at}attn_output", spec.n_embd, queries)
    if architecture(spec) in ("qwen3moe", "gemma4", "gemma3n"):
        yield build.ones(f"{at}attn_q_norm", head_dim)
        yield build.ones(f"{at}attn_k_norm", head_dim)
    if spec.layout == "gpt-oss":
        yield build.normal(f"{at}attn_output.bias", spec.n_embd)
        yield build.normal(f"{at}attn_sinks.weight", spec.n_heads, scale=1.0)


def _latent_attention(build: Build, at: str) -> Iterator[TensorPlan]:
    spec, heads = build.spec, build.spec.n_heads
    if spec.n_layer in _LITE_LAYERS:
        yield build.weight(f"{at}attn_q", heads * (_NOPE_DIM + _ROPE_DIM), spec.n_embd)
    else:
        yield build.weight(f"{at}attn_q_a", _QUERY_RANK, spec.n_embd)
        yield build.ones(f"{at}attn_q_a_norm", _QUERY_RANK)
        yield build.weight(f"{at}attn_q_b", heads * (_NOPE_DIM + _ROPE_DIM), _QUERY_RANK)
    yield build.weight(f"{at}attn_kv_a_mqa", _KEY_VALUE_RANK + _ROPE_DIM, spec.n_embd)
    yield build.ones(f"{at}attn_kv_a_norm", _KEY_VALUE_RANK)
    yield build.weight(f"{at}attn_k_b", heads, _KEY_VALUE_RANK, _NOPE_DIM)
    yield build.weight(f"{at}attn_v_b", heads, _VALUE_DIM, _KEY_VALUE_RANK)
    yield build.weight(f"{at}attn_output", spec.n_embd, heads * _VALUE_DIM)


def _feed_forward(build: Build, at: str, n_ff: int, suffix: str = "") -> Iterator[TensorPlan]:
    n_embd = build.spec.n_embd
    yield build.weight(f"{at}ffn_gate{suffix}", n_ff, n_embd)
    yield build.weight(f"{at}ffn_up{suffix}", n_ff, n_embd)
    yield build.weight(f"{at}ffn_down{suffix}", n_embd, n_ff)


def _experts(build: Build, at: str, layer: int) -> Iterator[TensorPlan]:
    spec = build.spec
    yield build.router(f"{at}ffn_gate_inp")
    if spec.layout == "deepseek2-merged":
        yield build.experts(f"{at}ffn_gate_up_exps", 2 * spec.n_ff, spec.n_embd, spec.expert_type)
    else:
        yield build.experts(f"{at}ffn_gate_exps", spec.n_ff, spec.n_embd, spec.expert_type)
        yield build.experts(f"{at}ffn_up_exps", spec.n_ff, spec.n_embd, spec.expert_type)
    yield build.experts(f"{at}ffn_down_exps", spec.n_embd, spec.n_ff, spec.down_type(layer))
    match architecture(spec):
        case "qwen2moe":
            yield build.normal(f"{at}ffn_gate_inp_shexp.weight", spec.n_embd, scale=spec.n_embd**-0.5)
            yield from _feed_forward(build, at, 2 * spec.n_ff, "_shexp")
        case "deepseek2":
            yield build.normal(f"{at}exp_probs_b.bias", spec.n_expert)
            yield from _feed_forward(build, at, spec.n_ff, "_shexp")
        case "gpt-oss":
            yield from _expert_biases(build, at)


def _expert_biases(build: Build, at: str) -> Iterator[TensorPlan]:
    spec = build.spec
    yield build.normal(f"{at}ffn_gate_inp.bias", spec.n_expert)
    for name, size in (("gate", spec.n_ff), ("up", spec.n_ff), ("down", spec.n_embd)):
        yield build.normal(f"{at}ffn_{name}_exps.bias", spec.n_expert, size)
