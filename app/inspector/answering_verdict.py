"""What holds an answer up: the disk, the link to a device, memory, or the processor."""

from __future__ import annotations

from app.inspector.evidence import Evidence, Verdict
from app.inspector.figures import percent_text, rate_text, seconds_text
from app.inspector.memory_figures import budget_for_all_bytes, bytes_per_token
from app.window_totals import WindowTotals
from engine.config import format_size

WAITING_SHARE = 0.3
SOME_WAITING_SHARE = 0.1
AT_LIMIT_SHARE = 0.8
# kernels that multiply while they read rarely get more out of memory than two thirds of a plain sum
MEMORY_AT_LIMIT_SHARE = 0.6


def answering_verdict(evidence: Evidence, window: WindowTotals) -> Verdict:
    """The longer wait if it is long enough to matter, else what the computation is bound by; pure."""
    disk, link = window.disk_wait_share, window.transfer_wait_share
    what, share = ("disk", disk) if disk >= link else ("the link", link)
    waited = f"waited for {what} {_of_the_time(share, window)}"
    if share >= WAITING_SHARE:
        advice = _disk_advice(evidence, window) if disk >= link else _link_advice(evidence)
        rates = _disk_rates(evidence, window) if disk >= link else _link_rates(evidence, window)
        sentence = f"Waiting for {what} {_of_the_time(share, window)} ({rates}); {advice}"
    elif share >= SOME_WAITING_SHARE:
        rates = _disk_rates(evidence, window) if disk >= link else _link_rates(evidence, window)
        sentence = f"Computing, but {waited} ({rates})."
    else:
        sentence = _computing(evidence, window, waited)
    return Verdict(sentence, _rule(evidence, window))


def needed_memory_bytes_per_second(evidence: Evidence, window: WindowTotals) -> float | None:
    """What decoding takes out of memory; None where that can't be told: in prefill, and with a device."""
    speed = window.decode_tokens_per_second
    is_decoding = window.decode_ns > window.prefill_ns
    if evidence.model is None or evidence.model.devices or speed is None or not is_decoding:
        return None
    return speed * bytes_per_token(evidence.model)


def _of_the_time(share: float, window: WindowTotals) -> str:
    return f"{percent_text(share)} of the last {seconds_text(window.span_ns)}"


def _disk_rates(evidence: Evidence, window: WindowTotals) -> str:
    read = f"{rate_text(window.bytes_per_second)} read"
    if evidence.drive.is_measured:
        return f"{read} of the drive’s {rate_text(evidence.drive.bytes_per_second)}"
    if window.disk_busy_ns:
        return (
            f"{read}, drive busy {percent_text(min(1.0, window.disk_busy_ns / window.span_ns))} of the time"
        )
    return read


def _link_rates(evidence: Evidence, window: WindowTotals) -> str:
    copied = f"{rate_text(window.link_bytes_per_second)} copied"
    if evidence.link is not None and evidence.link.is_measured:
        return f"{copied} of the link’s {rate_text(evidence.link.bytes_per_second)}"
    return copied


def _disk_advice(evidence: Evidence, window: WindowTotals) -> str:
    if evidence.resident_share == 1:
        return "every expert is in memory now, so this should end."
    if not window.expert_misses and not window.expert_streamed:
        return "no expert was read, so more slots would not help."
    share = evidence.drive.share(window.bytes_per_second)
    limit = "the drive gives all it can; " if share is not None and share >= AT_LIMIT_SHARE else ""
    return f"{limit}more slots would help{_budget_words(evidence)}."


def _budget_words(evidence: Evidence) -> str:
    model = evidence.model
    if model is None or not model.ram_budget_bytes or not model.slot_classes:
        return ""
    now, enough = format_size(model.ram_budget_bytes), format_size(budget_for_all_bytes(model))
    return f": raise the RAM budget of {now} in Budget ({enough} would hold every expert)"


def _link_advice(evidence: Evidence) -> str:
    devices = evidence.model.devices if evidence.model else ()
    budget = f" of {format_size(sum(each.budget_bytes for each in devices))}" if devices else ""
    return f"a larger hot zone would help: raise the device’s budget{budget}."


def _computing(evidence: Evidence, window: WindowTotals, waited: str) -> str:
    needed, measured = needed_memory_bytes_per_second(evidence, window), evidence.memory_bytes_per_second
    if window.prefill_ns > window.decode_ns:
        return f"Computing the prompt: {waited}; the processor is the limit, more slots would change little."
    if needed is None or not measured:
        return f"Computing: {waited}; more slots would change little."
    rates = f"decoding takes {rate_text(needed)} of the {rate_text(measured)} that memory gives"
    if needed >= MEMORY_AT_LIMIT_SHARE * measured:
        return (
            f"Computing: {waited}; {rates}, so memory is the limit: a model with fewer bytes per token would "
            "help, more slots would not."
        )
    return f"Computing: {waited}; {rates}, so the processor is the limit: more threads or cores would help."


def _rule(evidence: Evidence, window: WindowTotals) -> str:
    parts = [f"disk {_milliseconds(window.disk_wait_ns)}"]
    if evidence.link is not None:
        parts.append(f"link {_milliseconds(window.transfer_wait_ns)}")
    memory = (
        "Memory’s rate is not measured (Numbers measures it), so memory and processor are not told apart."
        if evidence.memory_bytes_per_second is None
        else f"While decoding, memory is the limit from {percent_text(MEMORY_AT_LIMIT_SHARE)} of its "
        "measured rate: tokens per second × bytes per token."
    )
    return (
        f"Time the engine stood still for reads and copies, divided by the time that passed: "
        f"{', '.join(parts)} of {_milliseconds(window.span_ns)}. "
        f"From {percent_text(WAITING_SHARE)} on it counts as waiting, "
        f"below {percent_text(SOME_WAITING_SHARE)} as computing; the longer wait is named. The drive gives "
        f"all it can from {percent_text(AT_LIMIT_SHARE)} of its measured maximum. {memory}"
    )


def _milliseconds(nanoseconds: int) -> str:
    return f"{nanoseconds / 1e6:,.0f} ms"
