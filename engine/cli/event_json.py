"""Events as JSON values: the class name in snake case becomes `type`."""

from __future__ import annotations

import re
from dataclasses import fields, is_dataclass

import numpy as np

from engine.events import Event, ExpertsSampled, TtftPhases, Usage
from engine.placement.tier import Tier


def event_document(event: Event) -> dict[str, object]:
    """One event; per-expert arrays are summed up, derived figures added where a reader would compute them."""
    if isinstance(event, ExpertsSampled):
        body = _experts_summary(event)
    else:
        body = {field.name: _plain(getattr(event, field.name)) for field in fields(event)}
    return {"type": event_type(event), **body}


def event_type(event: Event) -> str:
    """TextDelta becomes text_delta."""
    return re.sub(r"(?<!^)(?=[A-Z])", "_", type(event).__name__).lower()


def _plain(value: object) -> object:
    if is_dataclass(value) and not isinstance(value, type):
        document = {field.name: _plain(getattr(value, field.name)) for field in fields(value)}
        return document | _derived(value)
    if isinstance(value, (tuple, list)):
        return [_plain(item) for item in value]
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    return value


def _derived(value: object) -> dict[str, object]:
    if isinstance(value, TtftPhases):
        return {"total_ns": value.total_ns}
    if isinstance(value, Usage):
        return {
            "prefill_tokens_per_second": value.prefill_tokens_per_second,
            "decode_tokens_per_second": value.decode_tokens_per_second,
        }
    return {}


def _experts_summary(event: ExpertsSampled) -> dict[str, object]:
    return {
        "seq": event.seq,
        "t_ns": event.t_ns,
        "request_id": event.request_id,
        "moe_layers": list(event.moe_layers),
        "prefill_uses": int(event.prefill_uses.sum()),
        "decode_uses": int(event.decode_uses.sum()),
        "experts_by_tier": {tier.name.lower(): int(np.count_nonzero(event.tiers == tier)) for tier in Tier},
    }
