"""The collector rests while any thread asks for it, and then does what it did before."""

from __future__ import annotations

import gc

from app.chat.collection_pause import collection_paused


def test_overlapping_pauses() -> None:
    first, second = collection_paused(), collection_paused()
    first.__enter__()
    second.__enter__()
    assert not gc.isenabled()
    first.__exit__(None, None, None)
    assert not gc.isenabled()
    second.__exit__(None, None, None)
    assert gc.isenabled()


def test_a_collector_that_was_off_stays_off() -> None:
    gc.disable()
    try:
        with collection_paused():
            pass
        assert not gc.isenabled()
    finally:
        gc.enable()
