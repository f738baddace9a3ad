"""The network that is trained: a small transformer with routed experts, as llama.cpp computes qwen3moe."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional


@dataclass(frozen=True)
class Shape:
    """Sizes of the network; `expert_ff` is the inner width of one expert."""

    vocabulary: int = 4096
    width: int = 224
    layers: int = 8
    heads: int = 4
    key_value_heads: int = 2
    head_width: int = 64
    experts: int = 32
    top_k: int = 4
    expert_ff: int = 64
    context: int = 2048
    rope_base: float = 10_000.0
    epsilon: float = 1e-6


class SortedExperts(torch.autograd.Function):
    """All experts of a layer over rows sorted by expert: no padding, no row computed twice.

    `rows` (n, width), `counts` rows per expert; `gate_up` (experts, width, 2*ff), `down` (experts, ff, width)
    """

    @staticmethod
    def forward(ctx, rows, counts, gate_up, down):  # noqa: ANN001, ANN205 - autograd's own signature
        both = torch.empty(rows.shape[0], gate_up.shape[2])
        out = torch.empty_like(rows)
        for expert, (start, end) in _spans(counts):
            torch.mm(rows[start:end], gate_up[expert], out=both[start:end])
        gate, up = both.chunk(2, dim=1)
        inner = functional.silu(gate) * up
        for expert, (start, end) in _spans(counts):
            torch.mm(inner[start:end], down[expert], out=out[start:end])
        ctx.counts = counts
        ctx.save_for_backward(rows, gate_up, down, both, inner)
        return out

    @staticmethod
    def backward(ctx, grad_out):  # noqa: ANN001, ANN205 - autograd's own signature
        rows, gate_up, down, both, inner = ctx.saved_tensors
        spans = list(_spans(ctx.counts))
        grad_out = grad_out.contiguous()
        grad_inner, grad_down = torch.empty_like(inner), torch.zeros_like(down)
        for expert, (start, end) in spans:
            torch.mm(grad_out[start:end], down[expert].t(), out=grad_inner[start:end])
            torch.mm(inner[start:end].t(), grad_out[start:end], out=grad_down[expert])
        gate, up = both.chunk(2, dim=1)
        sigmoid = torch.sigmoid(gate)
        silu = gate * sigmoid
        grad_gate = grad_inner * up * (sigmoid + silu * (1 - sigmoid))
        grad_both = torch.cat((grad_gate, grad_inner * silu), dim=1)
        grad_rows, grad_gate_up = torch.empty_like(rows), torch.zeros_like(gate_up)
        for expert, (start, end) in spans:
            torch.mm(grad_both[start:end], gate_up[expert].t(), out=grad_rows[start:end])
            torch.mm(rows[start:end].t(), grad_both[start:end], out=grad_gate_up[expert])
        return grad_rows, None, grad_gate_up, grad_down


def _spans(counts: list[int]):  # noqa: ANN202 - a generator of (expert, (start, end))
    start = 0
    for expert, count in enumerate(counts):
        if count:
            yield expert, (start, start + count)
        start += count


class Experts(nn.Module):
    """Router and experts of one layer: softmax over all, the best `top_k`, weights that sum to one."""

    def __init__(self, shape: Shape) -> None:
        super().__init__()
        self.shape = shape
        self.router = nn.Linear(shape.width, shape.experts, bias=False)
        self.gate_up = nn.Parameter(torch.randn(shape.experts, shape.width, 2 * shape.expert_ff) * 0.03)
        self.down = nn.Parameter(torch.randn(shape.experts, shape.expert_ff, shape.width) * 0.02)
        self.balance_loss = torch.zeros(())
        self.picks = torch.zeros(shape.experts)

    def forward(self, x: Tensor) -> Tensor:
        flat = x.reshape(-1, self.shape.width)
        probabilities = self.router(flat).softmax(-1)
        weights, ids = probabilities.topk(self.shape.top_k, dim=-1)
        weights = weights / weights.sum(-1, keepdim=True)
        order = ids.reshape(-1).argsort(stable=True)
        counts = torch.bincount(ids.reshape(-1), minlength=self.shape.experts)
        self._note_balance(probabilities, counts)
        rows = flat[order // self.shape.top_k]
        out = SortedExperts.apply(rows, counts.tolist(), self.gate_up, self.down)
        out = out * weights.reshape(-1)[order].unsqueeze(1)
        total = torch.zeros_like(flat).index_add(0, order // self.shape.top_k, out)
        return total.reshape(x.shape)

    def _note_balance(self, probabilities: Tensor, counts: Tensor) -> None:
        """The loss of Switch Transformers (Fedus et al. 2021, eq. 4): 1 when every expert gets the same."""
        share = counts / counts.sum()
        self.picks = counts
        self.balance_loss = self.shape.experts * (share * probabilities.mean(0)).sum()


class Attention(nn.Module):
    """Grouped-query attention with normalised queries and keys, and rotary positions (halves, not pairs)."""

    def __init__(self, shape: Shape) -> None:
        super().__init__()
        self.shape = shape
        inner, kv = shape.heads * shape.head_width, shape.key_value_heads * shape.head_width
        self.q = nn.Linear(shape.width, inner, bias=False)
        self.k = nn.Linear(shape.width, kv, bias=False)
        self.v = nn.Linear(shape.width, kv, bias=False)
        self.out = nn.Linear(inner, shape.width, bias=False)
        self.q_norm = nn.RMSNorm(shape.head_width, shape.epsilon)
        self.k_norm = nn.RMSNorm(shape.head_width, shape.epsilon)

    def forward(self, x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
        rows, length, _ = x.shape

        def heads(values: Tensor, count: int) -> Tensor:
            return values.view(rows, length, count, self.shape.head_width).transpose(1, 2)

        q = _rotate(self.q_norm(heads(self.q(x), self.shape.heads)), cos, sin)
        k = _rotate(self.k_norm(heads(self.k(x), self.shape.key_value_heads)), cos, sin)
        v = heads(self.v(x), self.shape.key_value_heads)
        mixed = functional.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=True)
        return self.out(mixed.transpose(1, 2).reshape(rows, length, -1))


def _rotate(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    first, second = x.chunk(2, dim=-1)
    return torch.cat((first * cos - second * sin, second * cos + first * sin), dim=-1)


class Block(nn.Module):
    def __init__(self, shape: Shape, dropout: float) -> None:
        super().__init__()
        self.attention_norm = nn.RMSNorm(shape.width, shape.epsilon)
        self.attention = Attention(shape)
        self.experts_norm = nn.RMSNorm(shape.width, shape.epsilon)
        self.experts = Experts(shape)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
        x = x + self.dropout(self.attention(self.attention_norm(x), cos, sin))
        return x + self.dropout(self.experts(self.experts_norm(x)))


class Guide(nn.Module):
    """Token ids (rows, length) to logits (rows, length, vocabulary); input and output share one embedding."""

    def __init__(self, shape: Shape, dropout: float = 0.0) -> None:
        super().__init__()
        self.shape = shape
        self.embedding = nn.Embedding(shape.vocabulary, shape.width)
        self.blocks = nn.ModuleList(Block(shape, dropout) for _ in range(shape.layers))
        self.norm = nn.RMSNorm(shape.width, shape.epsilon)
        half = shape.head_width // 2
        angles = torch.outer(torch.arange(shape.context), shape.rope_base ** -(torch.arange(half) / half))
        self.register_buffer("cos", angles.cos(), persistent=False)
        self.register_buffer("sin", angles.sin(), persistent=False)
        self._initialise()

    def _initialise(self) -> None:
        for name, weights in self.named_parameters():
            if weights.dim() == 2:
                nn.init.normal_(weights, std=0.02 if "embedding" in name else weights.shape[1] ** -0.5 * 0.7)

    def forward(self, tokens: Tensor) -> Tensor:
        return self.hidden(tokens) @ self.embedding.weight.t()

    def hidden(self, tokens: Tensor) -> Tensor:
        """The normalised states before the output matrix."""
        cos, sin = self.cos[: tokens.shape[1]], self.sin[: tokens.shape[1]]
        x = self.embedding(tokens)
        for block in self.blocks:
            x = block(x, cos, sin)
        return self.norm(x)

    def balance_loss(self) -> Tensor:
        """Mean over layers."""
        return torch.stack([block.experts.balance_loss for block in self.blocks]).mean()

    def picks(self) -> Tensor:
        """How often each expert was picked in the last forward pass, (layers, experts)."""
        return torch.stack([block.experts.picks for block in self.blocks])
