"""What is known of a loaded model: its shape, its slots by class, its devices; part of some events."""

from __future__ import annotations

from dataclasses import dataclass

from engine.config import Routing


@dataclass(frozen=True, slots=True)
class SlotClassInfo:
    """Slots of one class: layers that share (type, shape) share an arena.

    `hot_per_layer` of the `pool_per_layer` are in the hot zone: device memory if `device_slots` is above 0
    (then that many slots on the device hold hot experts and what is staged), else RAM. `is_repacked`: slots
    hold weights as the processor's fastest kernels want them.
    """

    layers: tuple[int, ...]
    n_expert: int
    slots: int
    slot_bytes: int
    pool_per_layer: int
    window_slots: int
    hot_per_layer: int = 0
    device_slots: int = 0
    is_repacked: bool = False


@dataclass(frozen=True, slots=True)
class DeviceInfo:
    """A ggml device that holds weights. `name` as ggml says; `layers`: expert layers with slots there.

    `budget_bytes`: cap on what the engine takes there; `used_bytes`: what it took; `link_bytes_per_second`:
    what the link to it was measured to give, None if nobody measured it.
    """

    name: str
    description: str
    memory_bytes: int
    budget_bytes: int
    used_bytes: int
    layers: tuple[int, ...]
    link_bytes_per_second: float | None = None


@dataclass(frozen=True, slots=True)
class ModelInfo:
    """What is loaded and with which effective settings. Bytes are planned sizes.

    `requested_*` beside the effective value lets the window say when they differ. `notes` are
    sentences for the user (buffered reads, a shrunk unit, ...). `drive_bytes_per_second`: what the drive
    was measured to give, None if nobody measured it. `used_bytes`: memory of the process after the load,
    beside the planned sizes; None if nobody measured it. `locked_bytes`: of the hot zone, what the system
    promised to keep in RAM. `program_bytes`: memory of the process before the load, a part of the budget.
    `is_repacked`: weights are rewritten for the processor's fastest kernels wherever it has some, so the sums
    are those of llama.cpp with its repacking; else those without; `repack_reason` says why. `routing` None:
    not told (recordings of earlier versions). `largest_unit_tokens`: what the context takes at once, so the
    largest unit without another load (0: not told); `is_unit_open`: it was chosen for an automatic unit.
    """

    path: str
    name: str
    architecture: str
    file_bytes: int
    n_layer: int
    moe_layers: tuple[int, ...]
    n_expert: int
    top_k: int
    expert_bytes: int
    dense_bytes: int
    context_tokens: int
    kv_bytes: int
    compute_bytes: int
    slots_bytes: int
    ram_budget_bytes: int
    unit_tokens: int
    threads: int
    slot_classes: tuple[SlotClassInfo, ...]
    is_direct_io: bool
    has_chat_template: bool
    requested_context_tokens: int | None = None
    requested_unit_tokens: int | None = None
    notes: tuple[str, ...] = ()
    drive_bytes_per_second: float | None = None
    used_bytes: int | None = None
    locked_bytes: int = 0
    row_table_bytes: int = 0
    devices: tuple[DeviceInfo, ...] = ()
    program_bytes: int | None = None
    is_repacked: bool = False
    repack_reason: str = ""
    routing: Routing | None = None
    is_pool_fixed: bool = False
    largest_unit_tokens: int = 0
    is_unit_open: bool = False
