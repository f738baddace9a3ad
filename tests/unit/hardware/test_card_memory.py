"""What a card's driver says is in use, unless it hangs or it isn't clear which card is meant."""

from __future__ import annotations

from engine.hardware.card_memory import card_used_bytes
from tests.support.fake_nvml import DRIVER_NOT_LOADED, FakeCard, FakeNvml

GIB = 1 << 30


def test_the_card_of_that_name() -> None:
    library = FakeNvml(FakeCard("First", used=2 * GIB), FakeCard(b"Second", used=5 * GIB))
    assert card_used_bytes("Second", lambda: library) == 5 * GIB
    assert library.calls[0] == "init"
    assert library.calls[-1] == "shutdown"


def test_two_of_a_name_are_not_guessed_at() -> None:
    assert card_used_bytes("Same", lambda: FakeNvml(FakeCard("Same"), FakeCard("Same"))) is None


def test_without_driver_or_library() -> None:
    assert card_used_bytes("Any", lambda: FakeNvml(init_error=DRIVER_NOT_LOADED)) is None
    assert card_used_bytes("Any", lambda: None) is None


def test_a_driver_that_hangs_is_not_waited_for() -> None:
    library = FakeNvml(FakeCard("Any"))
    library.gate.clear()
    try:
        assert card_used_bytes("Any", lambda: library, most_seconds=0.05) is None
    finally:
        library.gate.set()
