"""How an answer is shown: as text with progress beside it, or as lines of JSON."""

from __future__ import annotations

from typing import Protocol

from engine.cli.event_json import event_document
from engine.cli.terminal import Terminal
from engine.config import format_size
from engine.events import (
    Event,
    FinishReason,
    GenerationFinished,
    LoadPhase,
    LoadProgress,
    ModelLoaded,
    PrefillProgress,
    RequestFailed,
    TextDelta,
)

_PHASE_WORDS = {
    LoadPhase.INSPECT: "Reading the header",
    LoadPhase.MAP: "Mapping the file",
    LoadPhase.DENSE_READ: "Reading dense weights",
    LoadPhase.CONTEXT: "Making the context",
    LoadPhase.SLOTS: "Preparing expert slots",
    LoadPhase.FIRST_GRAPH: "Checking the graph",
}
_REASON_WORDS = {
    FinishReason.MAX_TOKENS: "stopped at --max-tokens",
    FinishReason.CONTEXT_FULL: "the context is full",
    FinishReason.CANCELLED: "stopped",
}


class ChatView(Protocol):
    """Shows events in the order they come."""

    def show(self, event: Event) -> None: ...


class JsonView:
    """Every event as one line; a failed request is told by the command's error line instead."""

    def __init__(self, terminal: Terminal) -> None:
        self._terminal = terminal

    def show(self, event: Event) -> None:
        """Print the event."""
        if not isinstance(event, RequestFailed):
            self._terminal.line(event_document(event))


class TextView:
    """The answer on stdout; progress, notes and figures on stderr."""

    def __init__(self, terminal: Terminal) -> None:
        self._terminal = terminal
        self._is_line_open = False

    def show(self, event: Event) -> None:
        """Show what a reader of the answer cares about."""
        terminal = self._terminal
        match event:
            case TextDelta():
                terminal.write(event.text)
                self._is_line_open = not event.text.endswith("\n") if event.text else self._is_line_open
            case LoadProgress():
                terminal.progress(load_words(event))
            case PrefillProgress():
                terminal.progress(prefill_words(event))
            case ModelLoaded():
                for note in event.info.notes:
                    terminal.note(note)
                if terminal.stderr.isatty():
                    terminal.note(loaded_words(event))
            case GenerationFinished():
                self._end_line()
                if terminal.stderr.isatty():
                    terminal.note(finish_words(event))
            case RequestFailed():
                self._end_line()
            case _:
                pass

    def _end_line(self) -> None:
        if self._is_line_open:
            self._terminal.write("\n")
        self._is_line_open = False


def load_words(event: LoadProgress) -> str:
    """One line about a load in progress."""
    words = _PHASE_WORDS[event.phase]
    if event.phase is not LoadPhase.DENSE_READ or not event.total_bytes:
        return f"{words}…"
    words += f": {format_size(event.done_bytes)} of {format_size(event.total_bytes)}"
    if event.bytes_per_second <= 0:
        return words
    left_seconds = (event.total_bytes - event.done_bytes) / event.bytes_per_second
    return f"{words}, {format_size(event.bytes_per_second)}/s, {left_seconds:.0f} s left"


def loaded_words(event: ModelLoaded) -> str:
    """One line about a finished load: time, memory used beside the planned parts and the budget."""
    info, seconds = event.info, (event.load_ns + event.initialise_ns) / 1e9
    planned = info.dense_bytes + info.kv_bytes + info.compute_bytes + info.slots_bytes
    words = [f"loaded in {seconds:.1f} s", f"planned {format_size(planned)} beside the program"]
    if info.used_bytes is not None:
        words.append(f"used {format_size(info.used_bytes)} with it, of {format_size(info.ram_budget_bytes)}")
    if info.locked_bytes:
        words.append(f"hot zone {format_size(info.locked_bytes)}, locked")
    if info.drive_bytes_per_second:
        words.append(f"drive {info.drive_bytes_per_second / 1e9:.2f} GB/s")
    return ", ".join(words)


def prefill_words(event: PrefillProgress) -> str:
    """One line about a prompt in progress."""
    words = f"Reading the prompt: {event.done_tokens} of {event.total_tokens} tokens"
    if event.layers_total:
        words += f", layer {event.layers_done} of {event.layers_total}"
    return f"{words}, {event.elapsed_ns / 1e9:.0f} s"


def finish_words(event: GenerationFinished) -> str:
    """One line of figures after an answer."""
    usage, first_seconds = event.usage, event.ttft.total_ns / 1e9
    words = [
        f"{usage.completion_tokens} tokens",
        f"{usage.decode_tokens_per_second:.1f} tok/s",
        f"first after {first_seconds:.1f} s",
        f"prompt {usage.prompt_tokens} tokens ({usage.cached_tokens} re-used)",
    ]
    if event.reason in _REASON_WORDS:
        words.append(_REASON_WORDS[event.reason])
    return f"[{', '.join(words)}]"
