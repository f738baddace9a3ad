"""What can be chosen for a load, in words: titles, what each choice does, and why things are as they are."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Choice:
    """`name` is the field of LoadSettings; `why` answers “why is this so?”."""

    name: str
    title: str
    effect: str
    why: str


CHOICES = {
    each.name: each
    for each in (
        Choice(
            "ram_budget_bytes", "Memory budget", "The program stays within this much memory.",
            "Dense weights, the context and working memory are taken first; what is left of the "
            "budget becomes slots for experts. More slots mean fewer reads from the disk. Automatic "
            "takes most of what is available when the model is loaded. A budget that can’t hold the "
            "experts of a single token is refused with the least that is needed.",
        ),
        Choice(
            "vram_budget_bytes", "Device budget", "At most this much memory is taken on each device.",
            "Automatic takes what is free there, less some room for what else uses the device. Layers "
            "whose weights don’t fit stay in RAM.",
        ),
        Choice(
            "pool_per_layer", "Slots per layer", "This many experts of each layer keep their slot.",
            "These slots are the layer’s pool: their experts stay, whatever other layers need. The "
            "remaining slots are lent to the layer that computes. The pool gets smaller than you ask "
            "where the budget has not enough slots, or where one unit of a prompt needs more of them "
            "at once.",
        ),
        Choice(
            "hot_per_layer", "Hot per layer", "This many experts of each pool are in the hot zone.",
            "On a device the hot zone is device memory: no copy is needed for its experts. Without a "
            "device it is locked RAM, which the system may not move to disk. How much may be locked "
            "is limited by the system (ulimit -l); the rest stays in ordinary RAM.",
        ),
        Choice(
            "unit_tokens", "Prompt unit", "This many tokens of a prompt pass a layer together.",
            "Larger units read fewer bytes per token, because tokens share experts, but all experts "
            "that a unit picks in a layer must have a slot at once. If they might not, the unit "
            "shrinks.",
        ),
        Choice(
            "staging_slots", "Staging slots", "Experts pass through this many slots on a device.",
            "An expert that is not hot is copied into a staging slot before the device uses it. More "
            "of them let copies run ahead, and leave less device memory for hot experts.",
        ),
        Choice(
            "routing", "Routing", "Which experts a token may use.",
            "Exact gives the same answers as stock llama.cpp. Resident lets only a token’s first "
            "expert come from the disk and takes the others from the pool: faster, and answers can "
            "change. The fidelity meter says how much.",
        ),
        Choice(
            "is_pool_fixed", "Pools", "Whether pools learn from what is said.",
            "Learning pools let in what the router wanted most, between two passes: with time they fit "
            "the conversation, and what is learned is kept for the next session. Fixed pools keep their "
            "members, so that the same question gets the same answer whatever was said before.",
        ),
        Choice(
            "repack", "Repacking", "Whether weights are laid out anew for the fastest kernels.",
            "Repacked experts compute faster, but each must be rewritten as it enters its slot. That "
            "pays where experts stay, and costs where they are read again and again. Automatic weighs, "
            "when the model is loaded, what rewriting costs a token against what the kernels save. Answers "
            "are those of stock llama.cpp, with its own repacking or without.",
        ),
        Choice(
            "devices", "Devices", "Where weights may be besides this machine’s RAM.",
            "A graphics card, or the memory of another machine that runs llama.cpp’s RPC server. "
            "Another machine is added in the settings, on the page Devices.",
        ),
    )
}  # fmt: skip
