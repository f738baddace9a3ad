"""Start the window: `python -m app [FILE.gguf]`, installed as `emberglass`."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from app.arguments import parse_arguments
from app.display_check import window_problem


def main(argv: Sequence[str] | None = None) -> int:
    """Exit code of the program; --help, --version and bad usage end before Qt is imported."""
    arguments = parse_arguments(argv)
    problem = window_problem()
    if problem:
        print(problem, file=sys.stderr)
        return 1
    try:
        from app.program import run  # noqa: PLC0415 - importing Qt takes a second and needs a display
    except ImportError as error:
        print(f"The window can't start: {error}. Install Emberglass again.", file=sys.stderr)
        return 1
    return run(arguments)


if __name__ == "__main__":
    sys.exit(main())
