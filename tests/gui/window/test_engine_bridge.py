"""The bridge hands a flood of events out in pieces, in order, and paces itself by what runs."""

from __future__ import annotations

from collections.abc import Sequence

from pytestqt.qtbot import QtBot

from app.engine_bridge import BUSY_MS, EVENTS_PER_TICK, IDLE_MS, EngineBridge
from engine.config import ChatMessage, SamplingSettings
from engine.events import EngineState, Event, ModelUnloaded, TextDelta, TokensCounted, WarmUpFinished


class FloodingEngine:
    """Has many events ready at once, as after a pause of the window."""

    def __init__(self, events: Sequence[Event] = ()) -> None:
        self.events = list(events)
        self.state = EngineState.READY
        self.model = None

    def drain(self, max_events: int) -> list[Event]:
        taken, self.events = self.events[:max_events], self.events[max_events:]
        return taken

    def generate(
        self,
        messages: Sequence[ChatMessage],
        sampling: SamplingSettings,
        is_continuation: bool = False,
        asked_ns: int | None = None,
    ) -> int:
        return 1

    def count_tokens(self, messages: Sequence[ChatMessage]) -> int:
        return 8

    def warm_up(self) -> int:
        return 9

    def unload(self) -> int:
        return 7

    def close(self, timeout_seconds: float) -> None:
        self.state = EngineState.CLOSED


def bridge_over(engine: FloodingEngine) -> EngineBridge:
    return EngineBridge(engine)  # type: ignore[arg-type] # stands in for the engine


def test_two_thousand_deltas_come_in_pieces_and_in_order(qtbot: QtBot) -> None:
    engine = FloodingEngine([TextDelta(seq=n, text="x", completion_tokens=n) for n in range(2000)])
    bridge = bridge_over(engine)
    pieces: list[list[Event]] = []
    bridge.events_ready.connect(pieces.append)
    qtbot.waitUntil(lambda: sum(map(len, pieces)) == 2000)
    assert max(map(len, pieces)) == EVENTS_PER_TICK
    assert len(pieces) == 2000 // EVENTS_PER_TICK
    assert [event.seq for piece in pieces for event in piece] == list(range(2000))
    assert bridge.close()


def test_it_drains_fast_only_while_a_request_runs(qtbot: QtBot) -> None:
    engine = FloodingEngine()
    bridge = bridge_over(engine)
    assert bridge.tick_ms == IDLE_MS
    bridge.unload()
    assert bridge.tick_ms == BUSY_MS
    bridge.drain()
    assert bridge.tick_ms == BUSY_MS
    engine.events.append(ModelUnloaded(request_id=7))
    bridge.drain()
    assert bridge.tick_ms == IDLE_MS
    assert bridge.close()


def test_a_count_is_awaited_at_the_fast_pace(qtbot: QtBot) -> None:
    engine = FloodingEngine()
    bridge = bridge_over(engine)
    assert bridge.count_tokens([ChatMessage("user", "a")]) == 8
    assert bridge.tick_ms == BUSY_MS
    engine.events.append(TokensCounted(request_id=8, tokens=3, context_tokens=64))
    bridge.drain()
    assert bridge.tick_ms == IDLE_MS
    assert bridge.close()


def test_a_full_tick_is_followed_at_once(qtbot: QtBot) -> None:
    bridge = bridge_over(FloodingEngine([ModelUnloaded()] * EVENTS_PER_TICK))
    bridge.drain()
    assert bridge.tick_ms == 0
    assert bridge.close()


def test_a_warm_up_keeps_the_pace_up_until_it_ends(qtbot: QtBot) -> None:
    engine = FloodingEngine()
    bridge = bridge_over(engine)
    assert bridge.warm_up() == 9
    assert bridge.tick_ms == BUSY_MS
    engine.events.append(
        WarmUpFinished(
            request_id=9,
            experts_loaded=0,
            bytes_read=0,
            elapsed_ns=0,
            expected_hit_rate_before=1.0,
            expected_hit_rate_after=1.0,
            is_profile_saved=False,
        )
    )
    bridge.drain()
    assert bridge.tick_ms == IDLE_MS
    assert bridge.close()
