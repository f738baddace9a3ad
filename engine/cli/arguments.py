"""Values on the command line, and the arguments that several commands share."""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path

import platformdirs

from engine.config import LoadSettings, Repack, Routing, parse_size_bytes
from engine.errors import UsageError


def size_bytes(text: str) -> int:
    """A size such as 6GiB, above 0."""
    try:
        size = parse_size_bytes(text)
    except UsageError as error:
        raise argparse.ArgumentTypeError(str(error)) from error
    if size <= 0:
        raise argparse.ArgumentTypeError("must be above 0")
    return size


def positive(text: str) -> int:
    """A whole number above 0."""
    number = natural(text)
    if number == 0:
        raise argparse.ArgumentTypeError("must be above 0")
    return number


def natural(text: str) -> int:
    """A whole number, 0 or above."""
    if not text.isascii() or not text.isdigit():
        raise argparse.ArgumentTypeError(f"“{text}” is not a whole number")
    return int(text)


def unit_tokens(text: str) -> int | None:
    """Tokens of a prefill unit, or None for “auto”."""
    return None if text == "auto" else positive(text)


def add_file(parser: argparse.ArgumentParser) -> None:
    """The model file."""
    parser.add_argument("file", metavar="FILE", type=Path, help="GGUF file (first one of a split model)")


def add_optional_file(parser: argparse.ArgumentParser) -> None:
    """The model file, or the demo model."""
    parser.add_argument(
        "file", metavar="FILE", type=Path, nargs="?", help="GGUF file; without one, the demo model"
    )


def add_loading(parser: argparse.ArgumentParser) -> None:
    """Memory, threads and prefetch."""
    parser.add_argument("--ram", type=size_bytes, metavar="SIZE", help="memory budget, such as 6GiB")
    parser.add_argument("--threads", type=positive, metavar="N", help="threads that compute")
    parser.add_argument(
        "--no-prefetch", action="store_true", help="don't read the next layer's experts ahead of time"
    )


def add_routing(parser: argparse.ArgumentParser) -> None:
    """The routing policy and the size of the pools."""
    parser.add_argument(
        "--routing",
        type=_routing,
        default=Routing.EXACT,
        metavar="exact|resident",
        help="exact: as the model says (default); resident: only a token's first expert may come from disk, "
        "which is faster and can change answers",
    )
    parser.add_argument(
        "--slots",
        type=positive,
        metavar="N",
        help="experts of each layer that keep a slot (automatic; 20 with resident routing)",
    )
    parser.add_argument(
        "--pool",
        choices=("learn", "fixed"),
        default="learn",
        help="with resident routing: let pools learn from what is said (default), or leave them",
    )


def add_placement(parser: argparse.ArgumentParser) -> None:
    """The hot zone, the layout of slots, and devices with memory of their own."""
    add_hot(parser)
    parser.add_argument(
        "--repack",
        type=repack,
        default=Repack.AUTO,
        metavar="auto|on|off",
        help="lay weights out for the processor's fastest kernels as they enter slots: where that pays "
        "(default), always, never",
    )
    add_devices(parser)
    parser.add_argument(
        "--staging",
        type=positive,
        metavar="N",
        help="slots of each class on a device beside the hot zone, which copies pass through (automatic)",
    )


def add_hot(parser: argparse.ArgumentParser) -> None:
    """The hot zone."""
    parser.add_argument(
        "--hot",
        type=natural,
        metavar="N",
        help="experts of each layer in the hot zone, 0: none (automatic)",
    )


def add_devices(parser: argparse.ArgumentParser) -> None:
    """Devices, and how much of their memory to take."""
    parser.add_argument(
        "--device",
        action="append",
        default=[],
        metavar="NAME",
        help="keep weights in this device's memory too: a graphics card by llama.cpp's name (CUDA0), or "
        "another machine, rpc:HOST:PORT; may be given several times (none)",
    )
    parser.add_argument(
        "--vram",
        type=_size_or_zero,
        metavar="SIZE",
        help="most to take on each --device (chosen from its free memory)",
    )


def with_placement(settings: LoadSettings, arguments: argparse.Namespace) -> LoadSettings:
    """`settings` with what the arguments of `add_placement` say; raises UsageError if they contradict."""
    return replace(
        settings,
        hot_per_layer=arguments.hot,
        repack=arguments.repack,
        devices=device_names(arguments),
        vram_budget_bytes=arguments.vram or None,
        staging_slots=arguments.staging,
    )


def device_names(arguments: argparse.Namespace) -> tuple[str, ...]:
    """The devices to use; raises UsageError where --device and --vram contradict each other."""
    names = tuple(arguments.device)
    if arguments.vram == 0 and names:
        raise UsageError(
            f"--vram 0 leaves nothing to keep on “{names[0]}”.", "Leave out --vram, or leave out --device."
        )
    if arguments.vram and not names:
        raise UsageError(
            "--vram is a budget for devices, but none is named.", "Add --device NAME, or leave out --vram."
        )
    return names


def repack(text: str) -> Repack:
    """Whether slots hold weights laid out for the fastest kernels."""
    try:
        return Repack(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"“{text}” is none of auto, on, off") from None


def _size_or_zero(text: str) -> int:
    """A size such as 6GiB, or 0."""
    return 0 if text.strip() == "0" else size_bytes(text)


def add_context(parser: argparse.ArgumentParser) -> None:
    """The context window and the prefill unit."""
    parser.add_argument("--ctx", type=positive, metavar="N", help="context window in tokens")
    parser.add_argument(
        "--unit", type=unit_tokens, metavar="N", help="prompt tokens that pass a layer together, or auto"
    )


def add_profile(parser: argparse.ArgumentParser) -> None:
    """Where to keep what is learned about the model."""
    parser.add_argument(
        "--profile-dir",
        type=Path,
        metavar="DIR",
        help="folder for heat profiles: which experts a model uses most (default: the user's data folder)",
    )
    parser.add_argument("--no-profile", action="store_true", help="neither use nor keep a heat profile")


def profile_dir(arguments: argparse.Namespace) -> Path | None:
    """The folder that the arguments of `add_profile` name, or None."""
    if arguments.no_profile:
        return None
    if arguments.profile_dir is not None:
        return Path(arguments.profile_dir)
    return platformdirs.user_data_path("emberglass", appauthor=False) / "profiles"


def with_run(settings: LoadSettings, arguments: argparse.Namespace) -> LoadSettings:
    """`settings` with all that how a model runs depends on: unit, threads, routing, placement, profile.

    Raises UsageError if arguments contradict each other.
    """
    run = replace(
        settings,
        unit_tokens=arguments.unit,
        threads=arguments.threads,
        routing=arguments.routing,
        pool_per_layer=arguments.slots,
        is_pool_fixed=arguments.pool == "fixed",
        profile_dir=profile_dir(arguments),
    )
    return with_placement(run, arguments)


def _routing(text: str) -> Routing:
    try:
        return Routing(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"“{text}” is not a routing policy; use exact or resident") from None
