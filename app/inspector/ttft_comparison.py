"""Two times to first token side by side: which phase grew first, and what would help."""

from __future__ import annotations

from app.inspector.display_words import PHASE_WORDS
from app.inspector.figures import UNKNOWN, count_text, milliseconds_text
from app.telemetry_store import AnswerTiming
from engine.events import TtftPhases

GROWN_SHARE = 0.2
GROWN_NS = 50_000_000
# nobody saw the first text of an answer that came while its conversation was not on the screen
_MAY_BE_UNKNOWN = ("first_paint_ns",)

_ADVICE = {
    "queue_ns": "let the work before it end, or stop it, before you send.",
    "load_ns": "keep the weights resident: stay with one model, or leave more RAM free so that the file "
    "stays in memory.",
    "initialise_ns": "keep the initialised state: don’t unload between answers, or use a smaller context.",
    "warm_up_ns": "warm up while you write instead of after Enter.",
    "template_ns": "a shorter conversation: the whole of it is written and tokenised each time.",
    "first_decode_ns": "more slots, so that the experts the first token needs are in memory already.",
    "first_paint_ns": "a smaller window or a shorter conversation: the text was there, showing it took long.",
}
_PREFILL_DISK = (
    "more slots, or a warm-up before the first prompt: most of the growth is waiting for the disk."
)
_PREFILL_TRANSFER = (
    "more device memory for the hot zone: most of the growth is waiting for copies over the link."
)
_PREFILL_TOKENS = (
    "a shorter prompt, or going on with a conversation whose beginning is in the context already."
)


def first_grown(before: TtftPhases, now: TtftPhases) -> str | None:
    """Field of the first phase that grew by more than a fifth and by more than 50 ms; None if none did."""
    for name in PHASE_WORDS:
        earlier_ns, later_ns = getattr(before, name), getattr(now, name)
        if later_ns - earlier_ns > max(GROWN_NS, earlier_ns * GROWN_SHARE):
            return name
    return None


def comparison_words(before: AnswerTiming, now: AnswerTiming) -> str:
    """A sentence about what made the time grow from one answer to the other."""
    name = first_grown(before.ttft, now.ttft)
    if name is None:
        return f"No phase grew by more than 20 % and 50 ms against answer #{before.number}."
    values = (
        f"{milliseconds_text(getattr(before.ttft, name))} to {milliseconds_text(getattr(now.ttft, name))}"
    )
    grown = f"{_occasion(before, now)} {PHASE_WORDS[name]} grew first: {values}."
    return f"{grown} Would help: {_advice(name, before, now)}"


def answer_title(answer: AnswerTiming) -> str:
    """The answer with its model and its prompt: what was computed, and what was there already."""
    usage = answer.usage
    new = usage.prompt_tokens - usage.cached_tokens
    model = f" ({answer.model_name})" if answer.model_name else ""
    return (
        f"#{answer.number}{model}: {count_text(new)} new and {count_text(usage.cached_tokens)} cached tokens"
    )


def phase_rows(now: AnswerTiming, before: AnswerTiming | None) -> list[tuple[str, str, str, str]]:
    """(phase, this answer, the other one, change); the phases add up to the total in the last row."""
    rows: list[tuple[str, str, str, str]] = []
    other = before.ttft if before else None
    for name, words in PHASE_WORDS.items():
        rows.append(_row(words, now.ttft, other, name))
        if name == "prefill_ns":
            rows.append(_row("of it waiting for disk", now.ttft, other, "prefill_disk_wait_ns"))
            if any(each and each.prefill_transfer_wait_ns for each in (now.ttft, other)):
                rows.append(_row("of it waiting for the link", now.ttft, other, "prefill_transfer_wait_ns"))
    rows.append(_row("time to first token", now.ttft, other, "total_ns"))
    return rows


def _row(words: str, now: TtftPhases, before: TtftPhases | None, name: str) -> tuple[str, str, str, str]:
    now_ns, before_ns = getattr(now, name), getattr(before, name) if before else None
    if before_ns is None:
        return words, _duration(name, now_ns), "", ""
    is_known = name not in _MAY_BE_UNKNOWN or (now_ns and before_ns)
    change_ns = now_ns - before_ns
    sign = "+" if change_ns > 0 else "−" if change_ns < 0 else ""
    change = f"{sign}{milliseconds_text(abs(change_ns))}" if is_known else UNKNOWN
    return words, _duration(name, now_ns), _duration(name, before_ns), change


def _duration(name: str, length_ns: int) -> str:
    return UNKNOWN if name in _MAY_BE_UNKNOWN and not length_ns else milliseconds_text(length_ns)


def _occasion(before: AnswerTiming, now: AnswerTiming) -> str:
    if before.model_name != now.model_name:
        return f"After the switch from {before.model_name} to {now.model_name},"
    return f"Against answer #{before.number},"


def _advice(grown: str, before: AnswerTiming, now: AnswerTiming) -> str:
    if grown != "prefill_ns":
        return _ADVICE[grown]
    grown_ns = now.ttft.prefill_ns - before.ttft.prefill_ns
    if (now.ttft.prefill_disk_wait_ns - before.ttft.prefill_disk_wait_ns) * 2 > grown_ns:
        return _PREFILL_DISK
    if (now.ttft.prefill_transfer_wait_ns - before.ttft.prefill_transfer_wait_ns) * 2 > grown_ns:
        return _PREFILL_TRANSFER
    return _PREFILL_TOKENS
