"""Run the command line in this process and keep what it printed."""

from __future__ import annotations

import io
import json
from dataclasses import dataclass
from typing import Any

from engine.cli.main import main


class TtyStream(io.StringIO):
    """A stream that claims to be a terminal."""

    def isatty(self) -> bool:
        return True


@dataclass(frozen=True, slots=True)
class Printed:
    """What one run left behind."""

    code: int
    out: str
    err: str

    @property
    def lines(self) -> list[Any]:
        """Stdout as JSON lines."""
        return [json.loads(line) for line in self.out.splitlines()]


def run_engine(*words: str, typed: str = "", is_tty: bool = False) -> Printed:
    """`python -m engine WORDS`, with `typed` on stdin."""
    stream = TtyStream if is_tty else io.StringIO
    stdin, stdout, stderr = stream(typed), stream(), stream()
    code = main(words, stdin, stdout, stderr)
    return Printed(code, stdout.getvalue(), stderr.getvalue())
