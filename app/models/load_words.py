"""What is said about a model: how its load goes, what runs, with which settings."""

from __future__ import annotations

from engine.config import LoadSettings, Repack, format_size
from engine.events import EngineState, LoadPhase, LoadProgress
from engine.model_facts import ModelInfo

_PHASES = {
    LoadPhase.INSPECT: "Reading the file’s header",
    LoadPhase.MAP: "Mapping the file",
    LoadPhase.DENSE_READ: "Reading the dense weights",
    LoadPhase.CONTEXT: "Making room for the context",
    LoadPhase.SLOTS: "Reserving memory for experts",
    LoadPhase.FIRST_GRAPH: "Running once to check",
}


def load_words(progress: LoadProgress | None) -> str:
    """Phase, bytes, rate and time left, as far as they are known."""
    if progress is None:
        return "Starting…"
    words = [_PHASES[progress.phase]]
    done, total, rate = progress.done_bytes, progress.total_bytes, progress.bytes_per_second
    if progress.phase is LoadPhase.DENSE_READ and total:
        words.append(f"{format_size(done)} of {format_size(total)}")
        if rate > 0:
            words.append(f"{format_size(rate)}/s")
            words.append(f"about {_seconds_words((total - done) / rate)} left")
    elif total > 1:
        words.append(f"step {done:,} of {total:,}")
    return " · ".join(words)


def _seconds_words(seconds: float) -> str:
    whole = max(1, round(seconds))
    return f"{whole} s" if whole < 60 else f"{whole // 60} min {whole % 60} s"


def state_words(state: EngineState, model: ModelInfo | None, loading_name: str) -> str:
    """The line at the bottom of the window."""
    if state is EngineState.LOADING:
        return f"Loading {loading_name}…"
    if state is EngineState.CLOSED:
        return "The engine is closed."
    if model is None:
        return "No model loaded"
    doing = {EngineState.GENERATING: "Answering", EngineState.WARMING_UP: "Warming up"}.get(state, "Ready")
    return f"{doing} · {model.name} · {settings_words(model)}"


def settings_words(model: ModelInfo) -> str:
    """Effective settings; where they differ from what was asked for, both."""
    budget = f"{format_size(model.ram_budget_bytes)} memory budget"
    context = _with_request(
        f"context {model.context_tokens:,} tokens", model.context_tokens, model.requested_context_tokens
    )
    unit = _with_request(f"unit {model.unit_tokens:,} tokens", model.unit_tokens, model.requested_unit_tokens)
    return " · ".join((budget, context, unit))


def _with_request(words: str, effective: int, requested: int | None) -> str:
    return words if requested in (None, effective) else f"{words} (asked for {requested:,})"


def model_details(model: ModelInfo) -> str:
    """Several lines of facts about the loaded model."""
    lines = [
        f"{model.name} ({model.architecture}), file {format_size(model.file_bytes)}",
        f"{model.n_layer} layers, {len(model.moe_layers)} of them with experts",
    ]
    if model.n_expert:
        lines.append(
            f"{model.n_expert} experts per layer, {model.top_k} per token, "
            f"{format_size(model.expert_bytes)} each"
        )
    shares = {
        "dense weights": model.dense_bytes,
        "expert slots": model.slots_bytes,
        "context": model.kv_bytes,
        "working memory": model.compute_bytes,
    }
    lines.append("Memory: " + ", ".join(f"{format_size(size)} {name}" for name, size in shares.items()))
    lines.append(settings_words(model))
    return "\n".join([*lines, *model.notes])


def load_news(model: ModelInfo, asked: LoadSettings | None) -> str:
    """What to tell unasked of a load: its notes, but not what became of a choice left to the program."""
    is_left = asked is not None and asked.repack is Repack.AUTO
    return " ".join(note for note in model.notes if not (is_left and note == model.repack_reason))
