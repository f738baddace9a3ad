"""What a synthetic model looks like, and the plan of one of its tensors, as frozen values."""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import Enum, auto

from gguf import GGML_QUANT_SIZES, GGMLQuantizationType

from engine.errors import UsageError
from engine.gguf.synthetic_blocks import block_type
from engine.gguf.synthetic_vocabulary import N_VOCAB

LAYOUTS = (
    "qwen3moe", "qwen2moe", "deepseek2", "deepseek2-merged", "gpt-oss", "gemma4", "gemma4-dense", "gemma3n",
    "llama",
)  # fmt: skip
Metadata = dict[str, int | float | bool | tuple[bool, ...]]

MAX_EXPERTS, MAX_LAYERS = 1024, 512  # fixed sizes of llama.cpp's tables


@dataclass(frozen=True, slots=True)
class SyntheticSpec:
    """Shape, types and seed of a model of random weights.

    `expert_type` and `dense_type` are ggml names ("Q4_0"); `down_types` overrides the expert type of the down
    projection layer by layer, over and over (Q4_K_M files mix that way). `heads` 0 means one per 64 embedding
    values, `kv_heads` 0 one per 8 heads. `skew` 0 favours no expert; 0.5 gives some experts several times the
    traffic of others. Layouts "llama", "gemma4-dense" and "gemma3n" are dense and ignore the experts. The
    gemmas have a table of `embd_per_layer` values (gemma3n: 256) per layer and token, which is only read by
    row. Tokens beyond the bytes and control tokens are never answered, unless the embedding is the output too
    (`is_tied`). Raises UsageError for bad values.
    """

    layout: str = "qwen3moe"
    n_layer: int = 12
    n_expert: int = 128
    top_k: int = 8
    n_embd: int = 2048
    n_ff: int = 768
    expert_type: str = "Q4_0"
    dense_type: str = "Q4_0"
    down_types: tuple[str, ...] = ()
    heads: int = 0
    kv_heads: int = 0
    head_dim: int = 128
    context_tokens: int = 8192
    seed: int = 0
    shards: int = 1
    skew: float = 0.0
    n_vocab: int = N_VOCAB
    embd_per_layer: int = 256
    is_tied: bool = False

    def __post_init__(self) -> None:
        if self.layout not in LAYOUTS:
            raise UsageError(
                f"“{self.layout}” is not a known layout.", f"Choose one of {', '.join(LAYOUTS)}."
            )
        for name in (
            "n_layer",
            "n_expert",
            "top_k",
            "n_embd",
            "n_ff",
            "head_dim",
            "context_tokens",
            "shards",
            "embd_per_layer",
        ):
            self._require(getattr(self, name) > 0, f"{name} must be above 0")
        for name in ("heads", "kv_heads", "seed"):
            self._require(getattr(self, name) >= 0, f"{name} must be 0 or more")
        for name, most in (("n_expert", MAX_EXPERTS), ("n_layer", MAX_LAYERS)):
            self._require(getattr(self, name) <= most, f"llama.cpp takes at most {most} for {name}")
        self._require(self.n_vocab >= N_VOCAB, f"n_vocab must be at least {N_VOCAB}")
        self._require(self.top_k <= self.n_expert, "top_k can't exceed n_expert")
        # beyond this a single expert per layer would take almost every token
        self._require(0 <= self.skew <= 4, "skew must be between 0 and 4")
        self._require(self.head_dim % 2 == 0, "head_dim must be even (positions rotate pairs)")
        self._require(self.n_heads % self.n_kv_heads == 0, "heads must be a multiple of kv_heads")
        for type_name in (self.expert_type, self.dense_type, *self.down_types):
            block_type(type_name)

    def _require(self, is_ok: bool, rule: str) -> None:
        if not is_ok:
            raise UsageError(f"Bad model shape: {rule}.", "Correct the value and try again.")

    @property
    def is_dense(self) -> bool:
        return self.layout in ("llama", "gemma4-dense", "gemma3n")

    @property
    def n_heads(self) -> int:
        return self.heads or max(1, self.n_embd // 64)

    @property
    def n_kv_heads(self) -> int:
        return self.kv_heads or max(1, math.gcd(self.n_heads, max(1, self.n_heads // 8)))

    def down_type(self, layer: int) -> str:
        """ggml type name of the routed down projection in `layer`."""
        return self.down_types[layer % len(self.down_types)] if self.down_types else self.expert_type


class Fill(Enum):
    """How a tensor gets its values."""

    BLOCKS = auto()  # random quantised blocks of standard deviation `scale`
    ONES = auto()
    NORMAL = auto()  # F32, standard deviation `scale`
    ROUTER = auto()  # as NORMAL, rows scaled by the skew


@dataclass(frozen=True, slots=True)
class TensorPlan:
    """One tensor to write: `shape` slowest dimension first; the last `blank_rows` rows are zero."""

    name: str
    shape: tuple[int, ...]
    type_name: str
    fill: Fill
    scale: float = 1.0
    blank_rows: int = 0

    @property
    def type(self) -> GGMLQuantizationType:
        return block_type(self.type_name)

    @property
    def row_bytes(self) -> int:
        """Bytes of one row; raises UsageError when blocks don't divide it."""
        block_values, block_bytes = GGML_QUANT_SIZES[self.type]
        if self.shape[-1] % block_values:
            raise UsageError(
                f"Rows of {self.name} hold {self.shape[-1]} values, "
                f"but {self.type_name} stores blocks of {block_values}.",
                f"Make the row size a multiple of {block_values}, or choose another type.",
            )
        return int(self.shape[-1] // block_values * block_bytes)

    @property
    def size_bytes(self) -> int:
        return math.prod(self.shape[:-1]) * self.row_bytes

    @property
    def slice_count(self) -> int:
        """Slices that must differ from each other: the experts of a three-dimensional tensor."""
        return self.shape[0] if len(self.shape) == 3 else 1
