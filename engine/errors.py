"""Every fault the engine reports, in words a user can act on.

Each error names the fault and the next step; `ErrorInfo` is the frozen form that crosses threads.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ErrorInfo:
    """A fault as a picklable value: what happened, what to do, technical detail.

    `settings`: fields of LoadSettings that the next step speaks of; front ends have their own names for them.
    """

    kind: str
    fault: str
    next_step: str
    detail: str = ""
    exit_code: int = 1
    settings: tuple[str, ...] = ()

    def __str__(self) -> str:
        return f"{self.fault} {self.next_step}".strip()


class EngineError(Exception):
    """Base of all faults; `exit_code` is what the command line returns."""

    exit_code = 1

    def __init__(
        self, fault: str, next_step: str = "", detail: str = "", settings: tuple[str, ...] = ()
    ) -> None:
        super().__init__(f"{fault} {next_step}".strip())
        self.fault = fault
        self.next_step = next_step
        self.detail = detail
        self.settings = settings

    @property
    def info(self) -> ErrorInfo:
        kind = type(self).__name__
        return ErrorInfo(kind, self.fault, self.next_step, self.detail, self.exit_code, self.settings)

    def __reduce__(self) -> tuple[object, ...]:
        return type(self), (self.fault, self.next_step, self.detail, self.settings)


class ModelFileError(EngineError):
    """The file is missing, damaged or not a GGUF model."""

    exit_code = 2


class UnsupportedModelError(EngineError):
    """The file is sound, but this engine refuses to run it (by name, with the reason)."""

    exit_code = 2


class UsageError(EngineError):
    """A setting is out of range or contradicts another."""

    exit_code = 2


class BudgetError(EngineError):
    """The memory budget can't hold the least this model needs."""

    exit_code = 2


class DiskReadError(EngineError):
    """A read of weights failed or came back short; nothing was computed from it."""


class AbiError(EngineError):
    """The native library is not the one whose memory layout this engine knows."""


class TraceFileError(EngineError):
    """A trace that can't be read."""

    exit_code = 2


class ProfileFileError(EngineError):
    """A heat profile that can't be read or written; a load goes on without it."""


class TemplateError(EngineError):
    """The chat template can't be parsed or rejects these messages."""


class ContextFullError(EngineError):
    """The prompt does not fit into the context window."""


class NativeError(EngineError):
    """llama.cpp reported a failure."""


class DeviceError(EngineError):
    """A device can't be reached, or refused what was asked of it."""


class DeviceLostError(DeviceError):
    """A device disappeared while a model was on it; what was there is gone."""


class StateError(EngineError):
    """The command needs another engine state (e.g. a loaded model)."""


class Cancelled(EngineError):  # noqa: N818 - a request's outcome, not a fault
    """The user stopped the request; not a fault."""

    exit_code = 130

    def __init__(
        self,
        fault: str = "Stopped.",
        next_step: str = "",
        detail: str = "",
        settings: tuple[str, ...] = (),
    ) -> None:
        super().__init__(fault, next_step, detail, settings)


def error_info(error: BaseException) -> ErrorInfo:
    """Frozen form of any exception; unknown ones are named as internal faults."""
    if isinstance(error, EngineError):
        return error.info
    return ErrorInfo(
        "InternalError",
        f"Internal fault in the engine: {type(error).__name__}.",
        "Please report it with the details below.",
        repr(error),
    )
