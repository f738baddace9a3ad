"""A name for a model that is the same wherever its file lies."""

from __future__ import annotations

import hashlib
import json

from engine.gguf.model_file import ModelFile

_DIGITS = 32


def model_fingerprint(model: ModelFile) -> str:
    """32 hex digits from the model's name, its sizes and its tensor table; never from the path."""
    facts = (
        model.text("general.name"),
        model.architecture,
        [shard.size_bytes for shard in model.shards],
        [(t.name, t.type_name, t.shape, t.shard, t.offset_bytes, t.size_bytes) for t in model.tensors],
    )
    return hashlib.sha256(json.dumps(facts).encode()).hexdigest()[:_DIGITS]
