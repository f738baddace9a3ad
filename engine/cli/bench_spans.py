"""What of a model's files the drive's rate is measured with: what the engine reads."""

from __future__ import annotations

import random
from collections.abc import Iterator

from engine.config import MIB
from engine.gguf.expert_layout import ExpertLayout
from engine.gguf.model_file import ModelFile
from engine.hardware.drive_rate import ReadSpan

_DENSE_BLOCK_BYTES = MIB


def expert_spans(model: ModelFile, layout: ExpertLayout, count: int, seed: int = 0) -> Iterator[ReadSpan]:
    """Random expert slices of all layers; blocks of 1 MiB anywhere in a dense model's file."""
    chance = random.Random(seed)
    weights = [tensor for layer in layout.layers for tensor in layer.weights]
    for _ in range(count):
        if weights:
            expert = chance.choice(weights)
            offset = expert.tensor.offset_bytes + chance.randrange(expert.n_expert) * expert.slice_bytes
            yield ReadSpan(model.shards[expert.tensor.shard].path, offset, expert.slice_bytes)
        else:
            shard = chance.choice(model.shards)
            size = min(_DENSE_BLOCK_BYTES, shard.size_bytes)
            yield ReadSpan(shard.path, chance.randrange(shard.size_bytes - size + 1), size)
