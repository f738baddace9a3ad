"""Where a command reads and writes: plain text or JSON on stdout, progress and notes on stderr."""

from __future__ import annotations

import json
import shutil
import sys
from contextlib import suppress
from dataclasses import replace
from typing import TextIO

from engine.cli.option_words import next_step_with_options
from engine.errors import ErrorInfo

# Text of a model must not be able to move the cursor or retitle the window.
_CONTROL = {code: None for code in (*range(32), 127, *range(128, 160)) if chr(code) not in "\n\t"}


class Terminal:
    """The three streams of one command; used by its main thread only."""

    def __init__(self, stdin: TextIO, stdout: TextIO, stderr: TextIO) -> None:
        self.stdin, self.stdout, self.stderr = stdin, stdout, stderr
        self.is_json = self.is_verbose = False
        self._progress = ""

    @property
    def is_interactive(self) -> bool:
        """Whether a person types here and reads plain text."""
        return not self.is_json and self.stdin.isatty() and self.stdout.isatty()

    # --- stdout -------------------------------------------------------------------------------

    def write(self, text: str) -> None:
        """Text for stdout, shown at once."""
        self.clear_progress()
        self.stdout.write(text.translate(_CONTROL) if self.stdout.isatty() else text)
        self.stdout.flush()

    def document(self, value: object) -> None:
        """One indented JSON document."""
        self.write(json.dumps(value, indent=2, ensure_ascii=False) + "\n")

    def line(self, value: object) -> None:
        """One line of JSON."""
        self.write(json.dumps(value, ensure_ascii=False) + "\n")

    def fault(self, info: ErrorInfo) -> None:
        """Tell a fault and its next step; details only where asked for."""
        self.clear_progress()
        detail = info.detail if self.is_verbose else ""
        info = replace(info, next_step=next_step_with_options(info))
        if self.is_json:
            document = {
                "type": "error", "kind": info.kind, "fault": info.fault, "next_step": info.next_step,
            }  # fmt: skip
            self.line(document | ({"detail": detail} if detail else {}))
        else:
            hint = detail or ("(--verbose shows details)" if info.detail else "")
            self.note(f"error: {info}" + (f"\n{hint}" if hint else ""))

    # --- stderr -------------------------------------------------------------------------------

    def note(self, text: str) -> None:
        """A line beside the result."""
        self.clear_progress()
        self.stderr.write(text + "\n")
        self.stderr.flush()

    def progress(self, text: str) -> None:
        """Replace the progress line; only a person at a terminal sees it."""
        if not self.stderr.isatty():
            return
        width = shutil.get_terminal_size().columns - 1
        shown = text[:width]
        self.stderr.write("\r" + shown + " " * (len(self._progress) - len(shown)))
        self.stderr.flush()
        self._progress = shown

    def clear_progress(self) -> None:
        """Wipe the progress line, if there is one."""
        if self._progress:
            self.stderr.write("\r" + " " * len(self._progress) + "\r")
            self.stderr.flush()
            self._progress = ""

    # --- stdin --------------------------------------------------------------------------------

    def read_line(self, prompt: str) -> str | None:
        """The next line without its end, or None when there is no more; a person gets line editing."""
        self.clear_progress()
        if self.is_interactive and self.stdin is sys.stdin:
            with suppress(ImportError):
                import readline  # noqa: F401, PLC0415 - importing it is what gives input() its editing
            with suppress(EOFError):
                return input(prompt)
            return None
        if self.is_interactive:
            self.write(prompt)
        line = self.stdin.readline()
        return line.rstrip("\r\n") if line else None
