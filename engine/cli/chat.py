"""`chat [FILE]`: answer one prompt, or talk turn by turn."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from engine.backends.base import InferenceBackend
from engine.backends.fake import FakeBackend
from engine.cli.arguments import (
    add_context,
    add_loading,
    add_optional_file,
    add_placement,
    add_profile,
    add_routing,
    natural,
    positive,
    with_run,
)
from engine.cli.chat_views import JsonView, TextView
from engine.cli.conversation import Conversation
from engine.cli.terminal import Terminal
from engine.config import LoadSettings, SamplingSettings
from engine.demo_model import demo_settings
from engine.events import Event, FinishReason, GenerationFinished, RequestFailed
from engine.service import Engine

_OK, _INTERRUPTED = 0, 130
_PLAIN = SamplingSettings()


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Arguments of `chat`; defaults are those of the settings."""
    add_optional_file(parser)
    parser.add_argument(
        "--prompt", metavar="TEXT", help="ask this and end; without it, lines of stdin are turns"
    )
    parser.add_argument("--system", metavar="TEXT", help="system message")
    add_loading(parser)
    add_routing(parser)
    add_placement(parser)
    add_profile(parser)
    add_context(parser)
    parser.add_argument(
        "--trace", type=Path, metavar="OUT", help="record which experts are asked for, for “simulate”"
    )
    parser.add_argument("--seed", type=natural, metavar="N", help="makes an answer repeatable")
    parser.add_argument("--temp", type=float, default=_PLAIN.temperature, metavar="T", help="0: no chance")
    parser.add_argument("--top-k", type=natural, default=_PLAIN.top_k, metavar="N")
    parser.add_argument("--top-p", type=float, default=_PLAIN.top_p, metavar="P")
    parser.add_argument("--min-p", type=float, default=_PLAIN.min_p, metavar="P")
    parser.add_argument("--repeat-penalty", type=float, default=_PLAIN.repeat_penalty, metavar="F")
    parser.add_argument("--max-tokens", type=positive, metavar="N", help="longest answer")
    parser.add_argument("--backend", choices=("llama", "fake"), default="llama", help=argparse.SUPPRESS)


def run(arguments: argparse.Namespace, terminal: Terminal) -> int:
    """Load, then answer; returns the exit code."""
    sampling, settings = sampling_of(arguments), settings_of(arguments)
    engine = Engine(backend_factory(arguments.backend))
    view = JsonView(terminal) if terminal.is_json else TextView(terminal)
    try:
        conversation = Conversation(engine, view, arguments.system)
        loaded = conversation.load(settings)
        if isinstance(loaded, RequestFailed):
            return _tell_outcome(loaded, terminal)
        if arguments.prompt is not None:
            return _tell_outcome(conversation.ask(arguments.prompt, sampling), terminal)
        return _session(conversation, sampling, terminal)
    finally:
        engine.close()


def backend_factory(name: str) -> Callable[[], InferenceBackend]:
    """What the engine thread calls at the first load."""
    return FakeBackend if name == "fake" else llama_backend


def llama_backend() -> InferenceBackend:
    """The real one; its native code is loaded only now."""
    from engine.backends.llama_cpp import LlamaCppBackend  # noqa: PLC0415 - loads native code

    return LlamaCppBackend()


def settings_of(arguments: argparse.Namespace) -> LoadSettings:
    """Load settings from the arguments; raises ModelFileError where there is neither a file nor the demo."""
    if arguments.file is None:
        plain = demo_settings(ram_budget_bytes=arguments.ram, context_tokens=arguments.ctx)
    else:
        plain = LoadSettings(arguments.file, ram_budget_bytes=arguments.ram, context_tokens=arguments.ctx)
    run = with_run(plain, arguments)
    return replace(run, trace_path=arguments.trace, is_prefetch_on=not arguments.no_prefetch)


def sampling_of(arguments: argparse.Namespace) -> SamplingSettings:
    """Sampling settings from the arguments; raises UsageError for values out of range."""
    return SamplingSettings(
        temperature=arguments.temp,
        top_k=arguments.top_k,
        top_p=arguments.top_p,
        min_p=arguments.min_p,
        repeat_penalty=arguments.repeat_penalty,
        seed=arguments.seed,
        max_tokens=arguments.max_tokens,
    )


def _session(conversation: Conversation, sampling: SamplingSettings, terminal: Terminal) -> int:
    """Turns until the input ends. A person may go on after a fault; a script gets its exit code."""
    if terminal.is_interactive:
        terminal.note("/reset forgets the conversation, /quit leaves, Ctrl+C stops an answer.")
    while (line := terminal.read_line("> ")) is not None and line.strip() != "/quit":
        if line.strip() == "/reset":
            conversation.reset()
        elif line.strip():
            code = _tell_outcome(conversation.ask(line, sampling), terminal)
            if code != _OK and not terminal.is_interactive:
                return code
    return _OK


def _tell_outcome(outcome: Event, terminal: Terminal) -> int:
    """The exit code of a request that ended like this; a fault is told."""
    if isinstance(outcome, RequestFailed):
        if outcome.error.exit_code != _INTERRUPTED:
            terminal.fault(outcome.error)
        return outcome.error.exit_code
    is_stopped = isinstance(outcome, GenerationFinished) and outcome.reason is FinishReason.CANCELLED
    return _INTERRUPTED if is_stopped else _OK
