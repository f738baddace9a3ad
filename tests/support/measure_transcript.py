"""What the transcript costs: `python -m tests.support.measure_transcript` prints the figures.

An answer of 64 KiB with tables, code, lists and formulas arrives as 100 tokens a second would, without the
waiting; a conversation of 1,000 messages and 100,000 tokens is opened; two conversations are opened in turn.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from statistics import median, quantiles

os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")

import psutil
from PySide6.QtCore import QEventLoop, QTimer
from PySide6.QtWidgets import QApplication

from app.chat.transcript import Transcript
from app.gui_collector import GuiCollector
from app.history.records import Message

ANSWER_CHARACTERS = 64 * 1024
CHARACTERS_PER_TOKEN = 4
TOKENS_PER_SECOND = 100
FRAME_SECONDS = 0.033
ROUNDS = 20

SECTION = """## Part {number}

Some **bold** words and `code` in a paragraph that goes on for a while, as the answers of models do, with a
[link](https://example.org) and the formula $x_{number}^2 + y$ and prices of $5 and $10 in one sentence.

```python
def part_{number}(values: list[int]) -> int:
    \"\"\"Adds them up.\"\"\"
    total = 0
    for value in values:
        total += value * {number}  # weighted
    return total
```

| name | first | second | third |
|:-----|------:|-------:|:-----:|
| a{number} | 1 | 2 | `x` |
| b{number} | 3 | 4 | **y** |
| c{number} | 5 | 6 | z |
| d{number} | 7 | 8 | w |

1. First point of the list
2. Second point
   - with a detail
   - and another one
3. Third point

> A quote that says it again.

"""


def answer_text(characters: int = ANSWER_CHARACTERS) -> str:
    """Sections until there are enough characters."""
    text, number = "", 1
    while len(text) < characters:
        text += SECTION.replace("{number}", str(number))
        number += 1
    return text[:characters]


def main() -> int:
    application = QApplication.instance() or QApplication([])
    assert isinstance(application, QApplication)
    collector = GuiCollector(lambda: True)  # as in the program while it answers
    for measure in (measure_streaming, measure_opening, measure_memory):
        measure(application)
    collector.close()
    return 0


def shown_transcript() -> Transcript:
    transcript = Transcript()
    transcript.resize(900, 800)
    transcript.show()
    return transcript


def measure_streaming(application: QApplication) -> None:
    """Work of the GUI thread per frame, painting and timers included."""
    live = Message(2, 1, "assistant", "", "streaming", 0.0, None, "Model")
    transcript = shown_transcript()
    transcript.show_messages([replace(live, id=1, role="user", text="Question"), live], live)
    text = answer_text()
    step = round(TOKENS_PER_SECOND * FRAME_SECONDS * CHARACTERS_PER_TOKEN)
    costs: list[float] = []
    worked: list[float] = []
    for start in range(0, len(text), step):
        piece, begin = text[start : start + step], time.thread_time()
        costs.append(seconds_of(application, lambda added=piece: transcript.append_text(added)))
        worked.append(time.thread_time() - begin)
        let_others_work(2)
    end = seconds_of(application, lambda: transcript.end_answer(replace(live, text=text, status="complete")))
    late = quantiles(costs, n=100)[98]
    say(
        f"64 KiB answer, {len(costs)} frames: median {median(costs) * 1e3:.2f} ms, "
        f"99 % {late * 1e3:.2f} ms, worst {max(costs) * 1e3:.2f} ms "
        f"(without waiting for the processor {max(worked) * 1e3:.2f} ms), end {end * 1e3:.2f} ms"
    )
    transcript.deleteLater()


def measure_opening(application: QApplication) -> None:
    """From asking for the conversation until it is painted."""
    messages = long_conversation(1_000, 400)
    characters = sum(len(message.text) for message in messages)
    transcript = shown_transcript()
    application.processEvents()
    cost = seconds_of(application, lambda: transcript.show_messages(messages))
    say(f"{len(messages):,} messages, {characters // CHARACTERS_PER_TOKEN:,} tokens: opened in {cost:.3f} s")
    transcript.deleteLater()


def measure_memory(application: QApplication) -> None:
    """Growth of the process while two conversations are opened in turn."""
    first, second = long_conversation(1_000, 400), long_conversation(200, 2_000)
    transcript, process = shown_transcript(), psutil.Process()
    for conversation in (first, second) * 2:
        seconds_of(application, lambda shown=conversation: transcript.show_messages(shown))
    let_others_work(300)
    before = process.memory_info().rss
    for _ in range(ROUNDS):
        for conversation in (first, second):
            seconds_of(application, lambda shown=conversation: transcript.show_messages(shown))
            let_others_work(5)
    let_others_work(300)
    growth = (process.memory_info().rss - before) / (2 * ROUNDS)
    say(f"{2 * ROUNDS} reopened conversations: {growth / 2**20:+.3f} MiB each")
    transcript.deleteLater()


def long_conversation(count: int, characters: int) -> list[Message]:
    """Turns of so many characters, with everything that sections hold."""
    text = answer_text(count * characters)
    return [
        Message(
            number + 1,
            1,
            "assistant" if number % 2 else "user",
            text[number * characters : (number + 1) * characters],
            "complete",
            0.0,
            None,
            "Model",
        )
        for number in range(count)
    ]


def seconds_of(application: QApplication, work: Callable[[], None]) -> float:
    """Time of the work and of the painting it causes."""
    begin = time.perf_counter()
    work()
    application.processEvents(QEventLoop.ProcessEventsFlag.ExcludeUserInputEvents)
    return time.perf_counter() - begin


def let_others_work(milliseconds: int) -> None:
    """What timers do between frames, and the formulas' thread."""
    loop = QEventLoop()
    QTimer.singleShot(milliseconds, loop.quit)
    loop.exec()


def say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    raise SystemExit(main())
