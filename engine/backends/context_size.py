"""How much memory a llama.cpp context will take, before it exists."""

from __future__ import annotations

from dataclasses import dataclass, replace

from engine.gguf.expert_layout import ExpertLayout
from engine.gguf.facts import ModelFacts

# ggml's scheduler sets room aside for this many tensors per node of a graph (two for each input of a split)
_TENSORS_PER_NODE, _TENSOR_BYTES = 60, 336
_LEAST_NODES, _NODES_PER_TENSOR = 1024, 8  # in graphs of most architectures
_OTHER_ROWS = 10  # activations of a token beside its experts': residual, norms, attention
_MASK_BYTES = 4  # per token of a unit and token of the context: two masks


@dataclass(frozen=True, slots=True)
class ContextSize:
    """`kv_bytes` for the KV cache, `unit_bytes` for each token of a unit, `other_bytes` for the graph."""

    kv_bytes: int
    unit_bytes: int
    logits_bytes: int
    other_bytes: int

    @classmethod
    def estimate(cls, layout: ExpertLayout, facts: ModelFacts, context_tokens: int) -> ContextSize:
        """By what small models of several architectures took; for most somewhat too much.

        Of a token, a layer holds its experts' outputs twice, or what goes into their down projections.
        """
        weights = [weight for layer in layout.layers for weight in layer.weights]
        n_ff = max((w.tensor.shape[0] for w in weights if w.projection == "down"), default=0)
        picks = max(2 * facts.n_embd, 3 * n_ff) * layout.top_k
        n_tensors = len(layout.dense) + len(weights) + sum(len(layer.biases) for layer in layout.layers)
        nodes = max(_LEAST_NODES, _NODES_PER_TENSOR * n_tensors)
        return cls(
            kv_bytes=facts.kv_bytes_per_token * context_tokens,
            unit_bytes=4 * (picks + _OTHER_ROWS * facts.n_embd) + _MASK_BYTES * context_tokens,
            logits_bytes=4 * facts.n_vocab,
            other_bytes=nodes * _TENSORS_PER_NODE * _TENSOR_BYTES,
        )

    def compute_bytes(self, unit_tokens: int) -> int:
        """What computing such a unit takes where it is done."""
        return self.logits_bytes + unit_tokens * self.unit_bytes

    def bytes_for(self, unit_tokens: int) -> int:
        """Of a context that takes so many tokens at once."""
        return self.kv_bytes + self.other_bytes + self.compute_bytes(unit_tokens)

    def without_kv(self, kv_bytes: int) -> ContextSize:
        """With so much of the KV cache elsewhere."""
        return replace(self, kv_bytes=self.kv_bytes - kv_bytes)

    def measured(self, unit_tokens: int, size_bytes: int) -> ContextSize:
        """What it is if a context for such a unit takes `size_bytes`."""
        return replace(self, other_bytes=self.other_bytes + size_bytes - self.bytes_for(unit_tokens))
