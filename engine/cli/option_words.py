"""Settings that a fault names, as options of the command line."""

from __future__ import annotations

from engine.errors import ErrorInfo

_OPTIONS = {
    "ram_budget_bytes": "--ram",
    "vram_budget_bytes": "--vram",
    "context_tokens": "--ctx",
    "unit_tokens": "--unit",
    "profile_dir": "--profile-dir",
}


def next_step_with_options(info: ErrorInfo) -> str:
    """What to do, and with which options: “Raise the memory budget (--ram).”"""
    options = [_OPTIONS[name] for name in info.settings if name in _OPTIONS]
    if not options:
        return info.next_step
    return f"{info.next_step.removesuffix('.')} ({', '.join(options)})."
