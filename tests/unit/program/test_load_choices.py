"""What is typed into a field of load settings, and what comes of it."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.load_choices import OPTIONS, read_choices, text_of
from app.load_explanations import CHOICES
from engine.config import LoadSettings, Repack, Routing, parse_size_bytes

_BASE = LoadSettings(Path("a.gguf"), context_tokens=2048, reader_threads=2)


def test_what_no_field_is_there_for_stays() -> None:
    texts = {
        "ram_budget_bytes": " 6 GiB ",
        "pool_per_layer": "20",
        "hot_per_layer": "0",
        "unit_tokens": "auto",
    }
    chosen = read_choices(_BASE, texts, {"routing": Routing.RESIDENT, "repack": Repack.OFF}, ["rpc:a:1"])
    assert chosen.faults == {}
    assert chosen.settings == LoadSettings(
        Path("a.gguf"),
        context_tokens=2048,
        reader_threads=2,
        ram_budget_bytes=6 * 1024**3,
        pool_per_layer=20,
        hot_per_layer=0,
        routing=Routing.RESIDENT,
        repack=Repack.OFF,
        devices=("rpc:a:1",),
    )


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("ram_budget_bytes", "6", "“6” has no unit. Write 6 GiB or 6 MiB."),
        ("ram_budget_bytes", "six GiB", "“six GiB” is not a size. Write it like 6GiB, 2.5GB or 512MiB."),
        ("ram_budget_bytes", "-1 GiB", "“-1 GiB” is not a size. Write it like 6GiB, 2.5GB or 512MiB."),
        ("vram_budget_bytes", "0 MiB", "The size must be above 0. Leave the field empty for automatic."),
        ("pool_per_layer", "0", "The number must be between 1 and 1,000,000, not 0."),
        ("pool_per_layer", "2.5", "“2.5” is not a whole number. Leave the field empty for automatic."),
        ("hot_per_layer", "²", "“²” is not a whole number. Leave the field empty for automatic."),
        ("unit_tokens", "1000001", "The number must be between 1 and 1,000,000, not 1000001."),
    ],
)
def test_a_bad_value_is_named_at_its_field(name: str, text: str, words: str) -> None:
    chosen = read_choices(_BASE, {name: text, "staging_slots": "3"}, {})
    assert chosen.settings is None
    assert chosen.faults == {name: words}


def test_more_hot_experts_than_slots_are_refused_beside_another_fault() -> None:
    texts = {"pool_per_layer": "4", "hot_per_layer": "5", "unit_tokens": "x"}
    faults = read_choices(_BASE, texts, {}).faults
    assert set(faults) == {"hot_per_layer", "unit_tokens"}
    assert "at most 4" in faults["hot_per_layer"]
    assert read_choices(_BASE, {"pool_per_layer": "4", "hot_per_layer": "4"}, {}).faults == {}


@given(st.integers(1, 1 << 50))
def test_a_size_is_written_so_that_it_is_read_back_exactly(size_bytes: int) -> None:
    text = text_of("ram_budget_bytes", LoadSettings(Path("a"), ram_budget_bytes=size_bytes))
    assert parse_size_bytes(text) == size_bytes


def test_automatic_is_an_empty_text() -> None:
    assert {text_of(name, _BASE) for name in CHOICES if name not in (*OPTIONS, "devices")} == {""}


def test_every_choice_is_a_field_that_a_load_knows_and_is_explained() -> None:
    for name, choice in CHOICES.items():
        assert hasattr(_BASE, name)
        assert choice.effect.endswith(".")
        assert len(choice.why.split()) > 10
