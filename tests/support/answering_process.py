"""A process that streams an answer into a store until it is killed.

Each line it prints is one append, after it returned: seconds since the start, then all characters so far.
Run as `python -m tests.support.answering_process PATH`.
"""

from __future__ import annotations

import sys
import time
from itertools import count
from pathlib import Path

from app.history.answer_writer import AnswerWriter
from app.history.store import HistoryStore

QUESTION = "なぜ？ Tell me everything."


def main(path: Path) -> None:
    store = HistoryStore(path)
    conversation = store.create_conversation("long talk")
    store.add_user_message(conversation.id, QUESTION)
    _print("asked")
    answer = store.begin_answer(conversation.id, "tiny-moe")
    writer = AnswerWriter(store, answer.id, time.monotonic)
    started, total = time.monotonic(), 0
    for number in count():
        total += len(word(number))
        writer.append(word(number))
        _print(f"{time.monotonic() - started:.6f} {total}")
        _rest(writer, number)


def word(number: int) -> str:
    return f"word{number}　"


def _rest(writer: AnswerWriter, number: int) -> None:
    """The pace of tokens; after every fifty a pause in which only the window's timer runs."""
    for _ in range(15 if number % 50 == 49 else 1):
        time.sleep(0.05 if number % 50 == 49 else 0.004)
        writer.flush_if_due()


def _print(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
