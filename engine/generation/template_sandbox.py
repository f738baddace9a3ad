"""A jinja environment for templates from strangers' files: sandboxed, and bounded in work and size."""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import Any, NoReturn

from jinja2 import nodes
from jinja2.ext import Extension
from jinja2.parser import Parser
from jinja2.runtime import Context, LoopContext
from jinja2.sandbox import ImmutableSandboxedEnvironment

MAX_STEPS = 500_000
MAX_SECONDS = 10.0
MAX_CHARACTERS = 16_000_000
_MAX_NUMBER_BITS = 256
_UNUSED_GLOBALS = ("lipsum",)


class LimitExceededError(Exception):
    """The template asks for more work or memory than any chat needs."""


class RejectedError(Exception):
    """The template called raise_exception: it doesn't accept these messages."""


class BoundedEnvironment(ImmutableSandboxedEnvironment):
    """What chat templates expect of their environment, with limits per render.

    Every loop step and every call counts against MAX_STEPS and MAX_SECONDS (call `begin` before each
    render); operators refuse to build values above MAX_CHARACTERS. Filters may still build large
    values in one step. One thread at a time.
    """

    intercepted_binops = frozenset({"*", "**", "+"})

    def __init__(self) -> None:
        # constant folding would compute a hostile constant while compiling, outside of any limit
        super().__init__(
            trim_blocks=True,
            lstrip_blocks=True,
            optimized=False,
            extensions=["jinja2.ext.loopcontrols", GenerationTag],
        )
        self.begin()
        self.filters["tojson"] = _to_json
        self.filters["_counted"] = self._counted
        self.filters["_sized"] = _sized
        self.globals.update(raise_exception=_raise_exception, strftime_now=_strftime_now)
        for name in _UNUSED_GLOBALS:
            del self.globals[name]

    def begin(self) -> None:
        """Start a render with the full allowance of steps and time."""
        self._steps_left = MAX_STEPS
        self._deadline_seconds = time.monotonic() + MAX_SECONDS

    def call(self, context: Context, obj: Any, /, *args: Any, **kwargs: Any) -> Any:  # noqa: ANN401 - jinja's
        self._charge()
        if isinstance(obj, LoopContext):  # a recursive loop: its items don't pass through the for tag
            args = (self._counted(args[0]), *args[1:])
        if any(isinstance(arg, int) and arg > MAX_CHARACTERS for arg in args):
            raise LimitExceededError(f"a call with a number above {MAX_CHARACTERS}")
        return super().call(context, obj, *args, **kwargs)

    def call_binop(self, context: Context, operator: str, left: Any, right: Any) -> Any:  # noqa: ANN401 - jinja's
        if _result_size(operator, left, right) > MAX_CHARACTERS:
            raise LimitExceededError(f"a value above {MAX_CHARACTERS} characters")
        return super().call_binop(context, operator, left, right)

    def _generate(
        self, source: nodes.Template, name: str | None, filename: str | None, defer_init: bool = False
    ) -> str:
        """Route loops and `~` through the limits; nothing else repeats or grows so cheaply."""
        for loop in source.find_all(nodes.For):
            loop.iter = _filtered(loop.iter, "_counted")
        for concat in source.find_all(nodes.Concat):
            concat.nodes = [_filtered(node, "_sized") for node in concat.nodes]
        return super()._generate(source, name, filename, defer_init)

    def _counted(self, items: Iterable[object]) -> Iterator[object]:
        for item in items:
            self._charge()
            yield item

    def _charge(self) -> None:
        self._steps_left -= 1
        if self._steps_left < 0:
            raise LimitExceededError(f"more than {MAX_STEPS} steps")
        if time.monotonic() > self._deadline_seconds:
            raise LimitExceededError(f"more than {MAX_SECONDS:g} seconds")


class GenerationTag(Extension):
    """`{% generation %}` marks the assistant's part for training; here it means nothing."""

    tags = {"generation"}  # noqa: RUF012 - jinja's attribute

    def parse(self, parser: Parser) -> list[nodes.Node]:
        next(parser.stream)
        return parser.parse_statements(("name:endgeneration",), drop_needle=True)


def _filtered(node: nodes.Node, name: str) -> nodes.Filter:
    return nodes.Filter(node, name, [], [], None, None, lineno=node.lineno)


def _sized(value: object) -> str:
    """One operand of `~`; half of the limit each, so a text that doubles in a loop is caught at once."""
    text = str(value)
    if len(text) > MAX_CHARACTERS // 2:
        raise LimitExceededError(f"a text above {MAX_CHARACTERS // 2} characters")
    return text


def _result_size(operator: str, left: object, right: object) -> int:
    """Items (or a value above the limit for huge numbers) that the operation would build."""
    if isinstance(left, int) and isinstance(right, int):
        bits = left.bit_length() * right if operator == "**" else left.bit_length() + right.bit_length()
        return MAX_CHARACTERS + 1 if bits > _MAX_NUMBER_BITS else 0
    if operator == "*":
        return _length(left) * _length(right)
    return _length(left) + _length(right) if operator == "+" else 0


def _length(value: object) -> int:
    """Length of a sequence; a number counts as itself (as in "ab" * 3)."""
    if isinstance(value, (str, list, tuple)):
        return len(value)
    return value if isinstance(value, int) else 0


def _to_json(
    value: object,
    ensure_ascii: bool = False,
    indent: int | None = None,
    separators: tuple[str, str] | None = None,
    sort_keys: bool = False,
) -> str:
    """Plain JSON: jinja's own filter escapes for HTML, which models were not trained on."""
    return json.dumps(
        value, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys
    )


def _raise_exception(message: str) -> NoReturn:
    raise RejectedError(message)


def _strftime_now(pattern: str) -> str:
    return datetime.now().astimezone().strftime(pattern)
