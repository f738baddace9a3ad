"""Write the trained weights as GGUF, as llama.cpp’s qwen3moe: `python export.py DIR OUT.gguf`."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import torch
from gguf import MODEL_ARCH, GGMLQuantizationType, GGUFWriter, TokenType, quants
from network import Shape
from vocabulary import END, PAD, SPECIAL

_NAME = "Ember Guide"
_TEMPLATE = (
    "{%- for message in messages -%}"
    "{{ '<|im_start|>' + message['role'] + '\n' + message['content'] | trim + '<|im_end|>' + '\n' }}"
    "{%- endfor -%}"
    "{%- if add_generation_prompt -%}{{ '<|im_start|>assistant\n' }}{%- endif -%}"
)
_DESCRIPTION = (
    "A demonstration model; it knows Emberglass and the ideas behind it, nothing else. Trained from "
    "scratch on text written for it, in English, Japanese and Simplified Chinese. The model card lies "
    "beside the file."
)
Weights = dict[str, torch.Tensor]


def tensors(weights: Weights, shape: Shape) -> Iterator[tuple[str, torch.Tensor]]:
    """Names and values in file order; matrices as (out, in), experts first where there are many."""
    yield "token_embd.weight", weights["embedding.weight"]
    for layer in range(shape.layers):
        yield from _layer(weights, f"blocks.{layer}.", f"blk.{layer}.", shape)
    yield "output_norm.weight", weights["norm.weight"]


def _layer(weights: Weights, ours: str, theirs: str, shape: Shape) -> Iterator[tuple[str, torch.Tensor]]:
    plain = {
        "attn_norm": "attention_norm", "attn_q": "attention.q", "attn_k": "attention.k",
        "attn_v": "attention.v", "attn_q_norm": "attention.q_norm", "attn_k_norm": "attention.k_norm",
        "attn_output": "attention.out", "ffn_norm": "experts_norm", "ffn_gate_inp": "experts.router",
    }  # fmt: skip
    for name, own_name in plain.items():
        yield f"{theirs}{name}.weight", weights[f"{ours}{own_name}.weight"]
    gate, up = weights[f"{ours}experts.gate_up"].split(shape.expert_ff, dim=2)
    yield f"{theirs}ffn_gate_exps.weight", gate.transpose(1, 2)
    yield f"{theirs}ffn_up_exps.weight", up.transpose(1, 2)
    yield f"{theirs}ffn_down_exps.weight", weights[f"{ours}experts.down"].transpose(1, 2)


def _add_tensor(writer: GGUFWriter, name: str, tensor: torch.Tensor) -> None:
    values = np.ascontiguousarray(tensor.float().numpy())
    is_kept_exact = values.ndim == 1 or "ffn_gate_inp" in name
    if is_kept_exact:
        writer.add_tensor(name, values)
    else:
        kind = GGMLQuantizationType.Q8_0
        writer.add_tensor(name, quants.quantize(values, kind), raw_dtype=kind)


def _add_facts(writer: GGUFWriter, shape: Shape) -> None:
    writer.add_name(_NAME)
    writer.add_description(_DESCRIPTION)
    writer.add_author("The Emberglass developers")
    writer.add_license("MIT")
    writer.add_languages(["en", "ja", "zh"])
    writer.add_tags(["demonstration", "mixture-of-experts"])
    writer.add_context_length(shape.context)
    writer.add_embedding_length(shape.width)
    writer.add_block_count(shape.layers)
    writer.add_feed_forward_length(shape.expert_ff)
    writer.add_expert_feed_forward_length(shape.expert_ff)
    writer.add_head_count(shape.heads)
    writer.add_head_count_kv(shape.key_value_heads)
    writer.add_key_length(shape.head_width)
    writer.add_value_length(shape.head_width)
    writer.add_rope_freq_base(shape.rope_base)
    writer.add_layer_norm_rms_eps(shape.epsilon)
    writer.add_expert_count(shape.experts)
    writer.add_expert_used_count(shape.top_k)
    writer.add_file_type(7)  # mostly Q8_0
    writer.add_vocab_size(shape.vocabulary)


def _add_vocabulary(writer: GGUFWriter, tokenizer: dict) -> None:
    ids = tokenizer["model"]["vocab"]
    tokens = sorted(ids, key=ids.__getitem__)
    kinds = [TokenType.CONTROL if token in SPECIAL else TokenType.NORMAL for token in tokens]
    merges = [pair if isinstance(pair, str) else " ".join(pair) for pair in tokenizer["model"]["merges"]]
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("qwen2")
    writer.add_token_list(tokens)
    writer.add_token_types(kinds)
    writer.add_token_merges(merges)
    writer.add_eos_token_id(ids[END])
    writer.add_pad_token_id(ids[PAD])
    writer.add_add_bos_token(False)
    writer.add_chat_template(_TEMPLATE)


def export(folder: Path, target: Path) -> None:
    shape = Shape(**json.loads((folder / "shape.json").read_text(encoding="utf-8")))
    weights = torch.load(folder / "weights.pt", weights_only=True)
    writer = GGUFWriter(target, MODEL_ARCH.QWEN3MOE.name.lower())
    _add_facts(writer, shape)
    _add_vocabulary(writer, json.loads((folder / "tokenizer.json").read_text(encoding="utf-8")))
    for name, tensor in tensors(weights, shape):
        _add_tensor(writer, name, tensor)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, help="what train.py wrote")
    parser.add_argument("target", type=Path)
    chosen = parser.parse_args()
    export(chosen.folder, chosen.target)
