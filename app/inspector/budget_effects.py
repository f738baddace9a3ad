"""What a load gave, beside what was asked: a few words per field, a sentence where they differ. No Qt."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from engine.config import LoadSettings, Repack, Routing, format_size
from engine.model_facts import DeviceInfo, ModelInfo, SlotClassInfo

State = Callable[[LoadSettings, ModelInfo], str]


def states(asked: LoadSettings, model: ModelInfo) -> dict[str, str]:
    """By field of LoadSettings: what is in force now."""
    return {name: words for name, state in _STATES.items() if (words := state(asked, model))}


def differences(asked: LoadSettings, model: ModelInfo) -> list[str]:
    """Sentences where the effective values differ from the asked ones, then what the engine noted."""
    found = [sentence for check in _CHECKS if (sentence := check(asked, model))]
    return [*found, *model.notes]


# --- states ---------------------------------------------------------------------------------


def _ram_state(asked: LoadSettings, model: ModelInfo) -> str:
    words = f"now {format_size(model.ram_budget_bytes)}"
    return (
        words if model.used_bytes is None else f"{words}, {format_size(model.used_bytes)} used after the load"
    )


def _pool_state(asked: LoadSettings, model: ModelInfo) -> str:
    if not model.slot_classes:
        return ""
    words = f"now {_span(_pools(model))} of {model.n_expert}"
    return words + _asked_words(asked.pool_per_layer, _pools(model))


def _hot_state(asked: LoadSettings, model: ModelInfo) -> str:
    if not model.slot_classes:
        return ""
    hot = [each.hot_per_layer for each in model.slot_classes]
    place = "device memory" if _has_device_slots(model) else "locked RAM" if model.locked_bytes else "RAM"
    words = f"now {_span(hot)} in {place}" if any(hot) else "now 0"
    return words + _asked_words(asked.hot_per_layer, hot)


def _unit_state(asked: LoadSettings, model: ModelInfo) -> str:
    return f"now {model.unit_tokens:,} tokens{_asked_words(asked.unit_tokens, [model.unit_tokens])}"


def _routing_state(asked: LoadSettings, model: ModelInfo) -> str:
    return "" if model.routing is None else f"now {model.routing}"


def _learning_state(asked: LoadSettings, model: ModelInfo) -> str:
    if model.routing is not Routing.RESIDENT:
        return ""
    return "now fixed" if model.is_pool_fixed else "now learning"


def _staging_state(asked: LoadSettings, model: ModelInfo) -> str:
    on_device = [each for each in model.slot_classes if each.device_slots]
    if not on_device:
        return ""
    staging = [each.device_slots - each.hot_per_layer * len(each.layers) for each in on_device]
    return f"now {_span(staging)}{_asked_words(asked.staging_slots, staging)}"


def _repack_state(asked: LoadSettings, model: ModelInfo) -> str:
    if not model.slot_classes:
        return ""
    done, all_layers = _layers(_repacked(model)), _layers(model.slot_classes)
    if done in (0, all_layers):
        return "now repacked" if done else "now as in the file"
    return f"now repacked in {done} of {all_layers} layers"


def _device_state(asked: LoadSettings, model: ModelInfo) -> str:
    if not model.devices:
        return "now the processor only"
    return "now " + ", ".join(f"{_wrapping(each.name)} ({len(each.layers)} layers)" for each in model.devices)


def _vram_state(asked: LoadSettings, model: ModelInfo) -> str:
    parts = [
        f"{_wrapping(each.name)} {format_size(each.used_bytes)} of {format_size(each.budget_bytes)}"
        for each in model.devices
    ]
    return "now " + ", ".join(parts) if parts else ""


_STATES: dict[str, State] = {
    "ram_budget_bytes": _ram_state,
    "vram_budget_bytes": _vram_state,
    "pool_per_layer": _pool_state,
    "hot_per_layer": _hot_state,
    "unit_tokens": _unit_state,
    "routing": _routing_state,
    "is_pool_fixed": _learning_state,
    "staging_slots": _staging_state,
    "repack": _repack_state,
    "devices": _device_state,
}


# --- differences ----------------------------------------------------------------------------


def _ram_difference(asked: LoadSettings, model: ModelInfo) -> str:
    wanted = asked.ram_budget_bytes
    if wanted in (None, model.ram_budget_bytes):
        return ""
    effective = format_size(model.ram_budget_bytes)
    return f"You asked for a budget of {format_size(wanted or 0)}; {effective} is in force."


def _pool_difference(asked: LoadSettings, model: ModelInfo) -> str:
    wanted, pools = asked.pool_per_layer, _pools(model)
    if wanted is None or not pools or set(pools) == {wanted}:
        return ""
    reason = (
        "the model has no more experts."
        if max(pools) >= model.n_expert
        else "the budget has no more slots, or the layer that computes needs the rest."
    )
    return f"You asked for {wanted:,} slots per layer, the pools have {_span(pools)}: {reason}"


def _hot_difference(asked: LoadSettings, model: ModelInfo) -> str:
    wanted, hot = asked.hot_per_layer, [each.hot_per_layer for each in model.slot_classes]
    if wanted is None or not hot or set(hot) == {wanted}:
        return ""
    return f"You asked for {wanted:,} hot experts per layer, there are {_span(hot)}."


def _repack_difference(asked: LoadSettings, model: ModelInfo) -> str:
    done, all_layers = _layers(_repacked(model)), _layers(model.slot_classes)
    if asked.repack is Repack.ON and done < all_layers:
        return f"You asked for repacked weights; {done} of {all_layers} layers have them."
    if asked.repack is Repack.OFF and done:
        return f"You asked for weights as they are in the file; {done} of {all_layers} layers are repacked."
    return ""


def _device_difference(asked: LoadSettings, model: ModelInfo) -> str:
    unused = [each for each in asked.devices if not any(_is_meant(each, device) for device in model.devices)]
    if not unused:
        return ""
    return f"No weights are on {', '.join(f'“{_wrapping(each)}”' for each in unused)}."


_CHECKS: Sequence[State] = (
    _ram_difference,
    _pool_difference,
    _hot_difference,
    _repack_difference,
    _device_difference,
)


def _is_meant(asked: str, device: DeviceInfo) -> bool:
    """A server that lends several devices gives each of them a number: rpc:HOST:PORT#1."""
    return device.name.partition("#")[0] == asked


def _wrapping(address: str) -> str:
    """With places where a line may break, or one long address would widen the whole panel."""
    return address.replace(":", ":\u200b").replace(".", ".\u200b")


def _pools(model: ModelInfo) -> list[int]:
    return [each.pool_per_layer for each in model.slot_classes]


def _repacked(model: ModelInfo) -> list[SlotClassInfo]:
    return [each for each in model.slot_classes if each.is_repacked]


def _layers(classes: Sequence[SlotClassInfo]) -> int:
    return sum(len(each.layers) for each in classes)


def _has_device_slots(model: ModelInfo) -> bool:
    return any(each.device_slots for each in model.slot_classes)


def _span(values: Sequence[int]) -> str:
    least, most = min(values), max(values)
    return f"{least:,}" if least == most else f"{least:,}–{most:,}"


def _asked_words(wanted: int | None, effective: Sequence[int]) -> str:
    return "" if wanted is None or set(effective) == {wanted} else f" (you asked for {wanted:,})"
