"""`warmup FILE`: bring the likeliest experts into memory, keep what was learned, show what a prompt gains."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass

from engine.backends.base import CancelToken, InferenceBackend, LoadResult, WarmUpReport, WarmUpResult
from engine.cli.arguments import (
    add_context,
    add_file,
    add_loading,
    add_placement,
    add_profile,
    add_routing,
)
from engine.cli.chat import backend_factory, settings_of
from engine.cli.stop_signal import StopSignal
from engine.cli.table import facts_table, markdown_table
from engine.cli.terminal import Terminal
from engine.config import ChatMessage, LoadSettings, Routing, format_size
from engine.errors import Cancelled, ContextFullError, TemplateError
from engine.generation.chat_template import ChatTemplate

_INTERRUPTED = 130


@dataclass(frozen=True, slots=True)
class PromptFigures:
    """One prompt read from an empty cache. `disk_share`: of the expert requests, also those read ahead."""

    prompt_tokens: int
    prefill_ns: int
    prefill_tokens_per_second: float
    hit_rate: float
    disk_share: float
    disk_wait_ns: int
    bytes_read: int


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Arguments of `warmup`."""
    add_file(parser)
    parser.add_argument(
        "--prompt", metavar="TEXT", help="read this before and after, and show what the warm-up changed"
    )
    add_loading(parser)
    add_routing(parser)
    add_placement(parser)
    add_profile(parser)
    add_context(parser)
    parser.add_argument("--backend", choices=("llama", "fake"), default="llama", help=argparse.SUPPRESS)
    parser.set_defaults(trace=None)


def run(arguments: argparse.Namespace, terminal: Terminal) -> int:
    """Load, warm up, and measure the prompt on both sides of it; Ctrl+C ends it, what was learned is kept."""
    token = CancelToken()
    try:
        with StopSignal(token.cancel):
            return _run(arguments, terminal, token)
    except Cancelled:
        terminal.clear_progress()
        return _INTERRUPTED


def _run(arguments: argparse.Namespace, terminal: Terminal, token: CancelToken) -> int:
    settings = settings_of(arguments)
    with _loaded(backend_factory(arguments.backend), settings, terminal, token) as (backend, loaded):
        tokens = [] if arguments.prompt is None else _prompt_tokens(backend, loaded, arguments.prompt)
        before = _read(backend, tokens, terminal, "before", token)
        result = backend.warm_up(lambda progress: terminal.progress(_progress_words(progress)), token)
        after = _read(backend, tokens, terminal, "after", token)
    terminal.clear_progress()
    for note in loaded.info.notes:
        terminal.note(note)
    if terminal.is_json:
        terminal.document(_document(settings, loaded, result, before, after))
    else:
        terminal.write(_text(settings, result, before, after))
    return 0


@contextmanager
def _loaded(
    make_backend: Callable[[], InferenceBackend],
    settings: LoadSettings,
    terminal: Terminal,
    token: CancelToken,
) -> Iterator[tuple[InferenceBackend, LoadResult]]:
    backend = make_backend()
    try:
        terminal.progress(f"Loading {settings.path.name}…")
        yield backend, backend.load(settings, lambda _: None, token)
    finally:
        backend.unload()


def _prompt_tokens(backend: InferenceBackend, loaded: LoadResult, prompt: str) -> list[int]:
    """The prompt as “chat” would send it; raises ContextFullError if it doesn't fit."""
    bos, eos = backend.special_text("bos"), backend.special_text("eos")
    message = [ChatMessage("user", prompt)]
    try:
        text = ChatTemplate(backend.chat_template(), bos, eos).render(message)
    except TemplateError:
        text = ChatTemplate(None, bos, eos).render(message)
    tokens = backend.tokenize(text, add_special=not (bos and text.startswith(bos)), parse_special=True)
    if len(tokens) > loaded.info.context_tokens:
        raise ContextFullError(
            f"The prompt has {len(tokens)} tokens, the context {loaded.info.context_tokens}.",
            "Shorten the prompt, or give a larger context (--ctx).",
        )
    return tokens


def _read(
    backend: InferenceBackend, tokens: list[int], terminal: Terminal, when: str, token: CancelToken
) -> PromptFigures | None:
    if not tokens:
        return None
    terminal.progress(f"Reading the prompt {when} the warm-up: {len(tokens)} tokens…")
    backend.keep_prefix(0)
    start = backend.counters()
    backend.evaluate(tokens, 0, True, token)
    end = backend.counters()
    requests = max(1, end.expert_requests - start.expert_requests)
    misses = end.expert_misses - start.expert_misses
    prefill_ns = end.prefill_ns - start.prefill_ns
    return PromptFigures(
        prompt_tokens=len(tokens),
        prefill_ns=prefill_ns,
        prefill_tokens_per_second=len(tokens) * 1e9 / prefill_ns if prefill_ns else 0.0,
        hit_rate=1 - misses / requests,
        disk_share=(misses + end.expert_streamed_used - start.expert_streamed_used) / requests,
        disk_wait_ns=end.disk_wait_prefill_ns - start.disk_wait_prefill_ns,
        bytes_read=end.bytes_read - start.bytes_read,
    )


def _progress_words(progress: WarmUpReport) -> str:
    return (
        f"Warming up: {progress.done_experts:,} of {progress.total_experts:,} experts, "
        f"{format_size(progress.bytes_read)}"
    )


def _document(
    settings: LoadSettings,
    loaded: LoadResult,
    result: WarmUpResult,
    before: PromptFigures | None,
    after: PromptFigures | None,
) -> dict[str, object]:
    return {
        "model": loaded.info.name,
        "routing": str(settings.routing),
        "warm_up": asdict(result),
        "before": None if before is None else asdict(before),
        "after": None if after is None else asdict(after),
        "profile_dir": None if settings.profile_dir is None else str(settings.profile_dir),
        "notes": list(loaded.info.notes),
    }


def _text(
    settings: LoadSettings, result: WarmUpResult, before: PromptFigures | None, after: PromptFigures | None
) -> str:
    rows = [
        ("experts read", f"{result.experts_loaded:,} ({format_size(result.bytes_read)})"),
        ("time", f"{result.elapsed_ns / 1e9:.2f} s"),
        (
            "expected hit rate",
            f"{result.expected_hit_rate_before:.1%} before, {result.expected_hit_rate_after:.1%} after",
        ),
        ("heat profile", _profile_words(settings, result)),
    ]
    text = facts_table(rows)
    if before is None or after is None:
        return text
    figures = [
        ("prefill", *(f"{each.prefill_ns / 1e9:.2f} s" for each in (before, after))),
        ("tokens per second", *(f"{each.prefill_tokens_per_second:.1f}" for each in (before, after))),
        ("hit rate", *(f"{each.hit_rate:.1%}" for each in (before, after))),
        ("served from disk", *(f"{each.disk_share:.1%}" for each in (before, after))),
        ("disk wait", *(f"{each.disk_wait_ns / 1e6:.0f} ms" for each in (before, after))),
        ("bytes read", *(format_size(each.bytes_read) for each in (before, after))),
    ]
    header = (f"prompt of {before.prompt_tokens} tokens", "before", "after")
    return text + "\n" + markdown_table(header, figures)


def _profile_words(settings: LoadSettings, result: WarmUpResult) -> str:
    if settings.profile_dir is None:
        return "not used"
    if settings.is_pool_fixed and settings.routing is Routing.RESIDENT:
        return "unchanged: the pools are fixed"
    if result.is_profile_saved:
        return f"saved in {settings.profile_dir}"
    return "unchanged: nothing new was learned (give a --prompt, or chat first)"
