"""Where weights may go, as the command line says it."""

from __future__ import annotations

import argparse
from pathlib import Path

import pytest

from engine.cli.arguments import add_placement, with_placement
from engine.config import LoadSettings, Repack
from engine.errors import UsageError


def placed(*words: str) -> LoadSettings:
    parser = argparse.ArgumentParser(exit_on_error=False)
    add_placement(parser)
    return with_placement(LoadSettings(Path("m.gguf"), threads=3), parser.parse_args(words))


def test_nothing_said_is_automatic() -> None:
    assert placed() == LoadSettings(Path("m.gguf"), threads=3)


def test_everything_said_is_passed_on() -> None:
    words = ("--hot", "0", "--repack", "off", "--device", "CUDA0", "--device", "rpc:10.0.0.2:50052")
    assert placed(*words, "--vram", "2GiB") == LoadSettings(
        Path("m.gguf"),
        threads=3,
        hot_per_layer=0,
        repack=Repack.OFF,
        devices=("CUDA0", "rpc:10.0.0.2:50052"),
        vram_budget_bytes=2 << 30,
    )


def test_no_vram_means_no_device() -> None:
    assert placed("--vram", "0").vram_budget_bytes is None
    with pytest.raises(UsageError, match="leaves nothing to keep on “CUDA0”"):
        placed("--vram", "0", "--device", "CUDA0")
    with pytest.raises(UsageError, match="none is named"):
        placed("--vram", "1GiB")


@pytest.mark.parametrize("words", [("--repack", "maybe"), ("--hot", "-1"), ("--vram", "much")])
def test_nonsense_is_refused(words: tuple[str, str]) -> None:
    with pytest.raises(argparse.ArgumentError):
        placed(*words)
