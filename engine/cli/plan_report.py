"""A placement plan and its forecast as a JSON document and as tables."""

from __future__ import annotations

from dataclasses import asdict, dataclass

from engine.backends.placement_preview import PlacementPreview
from engine.cli.table import facts_table, markdown_table
from engine.config import format_size

_NOTHING = "not measured"


@dataclass(frozen=True, slots=True)
class Forecast:
    """What to expect of a warm model; rates are None where nothing was measured.

    `decode_tokens_per_second`: (reading and computing never overlap, they always do), if computing keeps up
    with the memory. `prefill_tokens_per_second_most`: what the drive allows; None also if it is not needed.
    """

    hit_rate: float
    is_from_profile: bool
    decode_read_bytes: int
    prefill_read_bytes_per_token: int
    drive_bytes_per_second: float | None = None
    is_drive_direct: bool | None = None
    memory_bytes_per_second: float | None = None
    decode_tokens_per_second: tuple[float, float] | None = None
    prefill_tokens_per_second_most: float | None = None


def plan_document(preview: PlacementPreview, forecast: Forecast) -> dict[str, object]:
    """Everything as JSON values; sizes in bytes."""
    budget, plan = preview.budget, preview.plan
    return {
        "model": preview.facts.name,
        "routing": str(preview.settings.routing),
        "budget_bytes": budget.budget_bytes,
        "is_budget_automatic": preview.settings.ram_budget_bytes is None,
        "context_tokens": budget.context_tokens,
        "unit_tokens": plan.unit_tokens,
        "repack": {
            "is_repacked": preview.repacking.choice.is_repacked,
            "reason": preview.repacking.choice.reason,
        },
        "tiers": {
            "vram": {
                "total_bytes": preview.vram_bytes,
                "devices": [asdict(device) for device in preview.devices],
            },
            "host": {**_host_bytes(preview), "left_over_bytes": _left_over_bytes(preview)},
            "disk": {"expert_bytes": preview.disk_bytes, "row_table_bytes": budget.row_table_bytes},
        },
        "classes": [
            {
                "layers": list(each.spec.layers),
                "n_expert": each.spec.n_expert,
                "slot_bytes": each.spec.slot_bytes,
                "is_repacked": repacked,
                "slots": each.slots,
                "slots_per_layer": each.slots / len(each.spec.layers),
                "pool_per_layer": each.decode_pool,
                "hot_per_layer": each.hot_per_layer,
                "window_slots": each.slots - each.decode_pool * len(each.spec.layers),
            }
            for each, repacked in zip(plan.classes, preview.repacked_classes, strict=True)
        ],
        "forecast": {
            **asdict(forecast),
            "basis": "profile" if forecast.is_from_profile else "uniform",
        },
        "notes": list(preview.notes),
    }


def plan_text(preview: PlacementPreview, forecast: Forecast) -> str:
    """Three tables: bytes, slots, forecast."""
    return (
        facts_table(_size_rows(preview))
        + "\n"
        + (_slot_table(preview) if preview.plan.classes else "No experts: a dense model.\n")
        + "\n"
        + facts_table(_forecast_rows(forecast))
    )


def _host_bytes(preview: PlacementPreview) -> dict[str, int]:
    budget, unit = preview.budget, preview.plan.unit_tokens
    return {
        "program_bytes": budget.program_bytes,
        "dense_bytes": budget.dense_bytes,
        "kv_bytes": budget.context.kv_bytes,
        "compute_bytes": budget.context.bytes_for(unit) - budget.context.kv_bytes,
        "reserve_bytes": budget.reserve_bytes(unit),
        "slots_bytes": preview.plan.slots_bytes,
    }


def _left_over_bytes(preview: PlacementPreview) -> int:
    return preview.budget.budget_bytes - sum(_host_bytes(preview).values())


def _size_rows(preview: PlacementPreview) -> list[tuple[str, str]]:
    host, budget = _host_bytes(preview), preview.budget
    asked = "automatic" if preview.settings.ram_budget_bytes is None else "asked for"
    return [
        ("model", f"{preview.facts.name} ({format_size(preview.facts.file_bytes)})"),
        ("routing", str(preview.settings.routing)),
        ("prefill unit", f"{preview.plan.unit_tokens} tokens"),
        ("weights", "repacked" if preview.repacking.choice.is_repacked else "not repacked"),
        ("memory budget", f"{format_size(budget.budget_bytes)} ({asked})"),
        ("  program", format_size(host["program_bytes"])),
        ("  dense weights", format_size(host["dense_bytes"])),
        ("  KV cache", f"{format_size(host['kv_bytes'])} ({budget.context_tokens:,} tokens)"),
        ("  compute buffers", f"{format_size(host['compute_bytes'])} (estimate)"),
        ("  reserve", format_size(host["reserve_bytes"])),
        ("  expert slots", format_size(host["slots_bytes"])),
        ("    of it locked", f"{format_size(preview.plan.zone_bytes)} (hot zone, if the system allows it)"),
        ("  left over", format_size(_left_over_bytes(preview))),
        *_device_rows(preview),
        ("experts on disk only", format_size(preview.disk_bytes)),
        ("row tables on disk only", format_size(budget.row_table_bytes)),
    ]


def _device_rows(preview: PlacementPreview) -> list[tuple[str, str]]:
    if not preview.devices:
        return [("VRAM", "0 B")]
    return [
        (
            f"device {device.name}",
            f"{format_size(device.used_bytes)} of {format_size(device.budget_bytes)}; "
            f"experts of {len(device.layers)} layers",
        )
        for device in preview.devices
    ]


def _slot_table(preview: PlacementPreview) -> str:
    rows = [
        (
            _layer_words(each.spec.layers),
            str(each.spec.n_expert),
            format_size(each.spec.slot_bytes),
            f"{each.slots:,}",
            f"{each.slots / len(each.spec.layers):.1f}",
            str(each.decode_pool),
            str(each.hot_per_layer),
            str(each.slots - each.decode_pool * len(each.spec.layers)),
        )
        for each in preview.plan.classes
    ]
    return markdown_table(
        ("layers", "experts", "slot", "slots", "per layer", "pool", "of it hot", "window"), rows
    )


def _layer_words(layers: tuple[int, ...]) -> str:
    """ "0-3, 7": runs of layer numbers."""
    runs: list[list[int]] = []
    for layer in sorted(layers):
        if runs and layer == runs[-1][-1] + 1:
            runs[-1].append(layer)
        else:
            runs.append([layer])
    return ", ".join(str(run[0]) if len(run) == 1 else f"{run[0]}-{run[-1]}" for run in runs)


def _forecast_rows(forecast: Forecast) -> list[tuple[str, str]]:
    basis = (
        "from the heat profile"
        if forecast.is_from_profile
        else "if experts are used evenly; no heat profile yet, real use is usually less even"
    )
    decode, drive = forecast.decode_tokens_per_second, forecast.drive_bytes_per_second
    most = forecast.prefill_tokens_per_second_most
    measured = "the drive is not the limit" if drive and most is None else _NOTHING
    cache = "" if forecast.is_drive_direct else ", through the page cache"
    memory = forecast.memory_bytes_per_second
    return [
        ("expected hit rate", f"{forecast.hit_rate:.1%} ({basis})"),
        ("read per decoded token", format_size(forecast.decode_read_bytes)),
        ("read per prompt token", format_size(forecast.prefill_read_bytes_per_token)),
        ("drive", f"{drive / 1e9:.2f} GB/s{cache}" if drive else _NOTHING),
        ("memory", f"{memory / 1e9:.1f} GB/s" if memory else _NOTHING),
        (
            "decode, at most",
            f"{decode[0]:.1f} to {decode[1]:.1f} tokens/s (without and with full overlap)"
            if decode
            else _NOTHING,
        ),
        ("prefill, at most", f"{most:.1f} tokens/s by the drive" if most else measured),
    ]
