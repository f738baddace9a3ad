"""kill -9 at fifty random moments of a session: nothing the store had confirmed is ever missing.

That is stricter than “a second on the screen”: every step counts from the moment the store returns.
How much of a streaming answer may be unsaved at any time is measured in test_crash.py.
"""

from __future__ import annotations

import json
import random
import subprocess
import sys
from contextlib import closing, suppress
from pathlib import Path

from app.history.conversation_copy import ConversationCopy
from app.history.store import HistoryStore

ROOT = Path(__file__).parents[3]
KILLS = 50
KILLS_WHILE_OPENING = 8
State = dict[str, object]


def killed_session(path: Path, seed: int, moment_seconds: float, is_opening: bool) -> list[State]:
    """Everything the process reported before it was killed so long after its first report (or its start)."""
    command = [sys.executable, "-m", "tests.support.session_process", str(path), str(seed)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, cwd=ROOT, bufsize=0) as process:
        assert process.stdout is not None
        first = b"" if is_opening else process.stdout.readline()
        with suppress(subprocess.TimeoutExpired):
            process.communicate(timeout=moment_seconds)
        process.kill()
        rest, _ = process.communicate()
    lines = (first + rest).splitlines(keepends=True)
    return [json.loads(line) for line in lines if line.endswith(b"\n")]


def state_of(store: HistoryStore, number: int, is_deleted: bool) -> State:
    copy: ConversationCopy = store.copy_of([number]).conversations[0]
    return {
        "title": copy.title, "pinned": copy.is_pinned, "folder": copy.folder, "deleted": is_deleted,
        "shown": [each.text for each in store.messages(number)],
        "all": sorted(each.text for each in copy.messages),
    }  # fmt: skip


def states(store: HistoryStore) -> dict[int, State]:
    """Of all conversations, also those that are deleted and not yet purged."""
    rows = store._database.connection.execute("SELECT id, deleted_at IS NOT NULL FROM conversations")
    return {number: state_of(store, number, bool(is_deleted)) for number, is_deleted in rows.fetchall()}


def allowed_after(before: dict[int, State], reports: list[State]) -> list[dict[int, State]]:
    """What may be there after the kill: all that was confirmed, with or without the step it hit."""
    confirmed = dict(before)
    for report in reports:
        if "did" in report:
            confirmed[report["id"]] = report["did"]  # type: ignore[index,assignment]
    if not reports or "did" in reports[-1]:
        return [confirmed]
    number = reports[-1]["id"] or max(confirmed, default=0) + 1
    return [confirmed, {**confirmed, number: reports[-1]["will"]}]  # type: ignore[dict-item]


def assert_sound(store: HistoryStore) -> None:
    connection = store._database.connection
    assert store.opening_note == ""
    assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    assert connection.execute("PRAGMA foreign_key_check").fetchall() == []
    # raises if the search index and the messages differ
    connection.execute("INSERT INTO message_index (message_index, rank) VALUES ('integrity-check', 1)")


def test_nothing_confirmed_is_lost(path: Path) -> None:
    moments = random.Random(20_26)
    before: dict[int, State] = {}
    steps = cut_off = 0
    for seed in range(KILLS):
        is_opening = seed % (KILLS // KILLS_WHILE_OPENING) == 0
        reports = killed_session(path, seed, moments.uniform(0.0, 0.12), is_opening)
        allowed = allowed_after(before, reports)
        # by the clock of the process: by another one, what it deleted might be purged
        with closing(HistoryStore(path)) as store:
            assert_sound(store)
            before = states(store)
        assert before in allowed, f"kill {seed} after {len(reports)} reports"
        steps += len(reports) // 2
        cut_off += len(allowed) - 1
    # enough happened, and kills fell into steps, or the test shows nothing
    assert steps > 10 * KILLS
    assert cut_off > 0
