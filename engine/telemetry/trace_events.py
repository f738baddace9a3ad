"""Events as JSON values and back, without any chat text.

Per-expert arrays are stored as their difference to the sample before them, in the narrowest integers, zlib
and base64: hundreds of kilobytes become a few. So documents must be encoded and decoded in one order.
"""

from __future__ import annotations

import base64
import dataclasses
import re
import types
import typing
import zlib
from enum import Enum
from pathlib import PurePath
from typing import Any

import numpy as np
from numpy.typing import NDArray

from engine import events as event_module
from engine.events import Event, ExpertsSampled

Document = dict[str, Any]

_TYPES: dict[str, type[Event]] = {
    re.sub(r"(?<!^)(?=[A-Z])", "_", name).lower(): kind
    for name, kind in vars(event_module).items()
    if isinstance(kind, type) and issubclass(kind, Event) and kind is not Event
}
_NAMES = {kind: name for name, kind in _TYPES.items()}
_ARRAYS = ("prefill_uses", "decode_uses", "tiers", "last_use_pass")
# what was said, and technical details that could quote it
_LEFT_OUT = {"text": "", "detail": ""}


class EventEncoder:
    """One recording; remembers the newest per-expert sample."""

    def __init__(self) -> None:
        self._previous: ExpertsSampled | None = None

    def encode(self, event: Event) -> Document:
        """A JSON value with `type`; paths are cut down to the file's name, texts are left out."""
        document: Document = {"type": _NAMES[type(event)]}
        if not isinstance(event, ExpertsSampled):
            document.update(_plain(event))
            return document
        base = _base(self._previous, event)
        self._previous = event
        fields = {f.name: getattr(event, f.name) for f in dataclasses.fields(event) if f.name not in _ARRAYS}
        arrays = {name: _packed(getattr(event, name), base.get(name)) for name in _ARRAYS}
        return document | {name: _plain(value) for name, value in fields.items()} | arrays


class EventDecoder:
    """The counterpart; `previous` may be set to go on from a place that was decoded before."""

    def __init__(self) -> None:
        self.previous: ExpertsSampled | None = None

    def decode(self, document: Document) -> Event | None:
        """The event; None for a type this version doesn't know.

        A broken document raises ValueError, KeyError, TypeError or zlib.error.
        """
        kind = _TYPES.get(document["type"])
        if kind is None:
            return None
        if kind is not ExpertsSampled:
            return typing.cast(Event, _typed(kind, document))
        base = {name: getattr(self.previous, name) for name in _ARRAYS} if self.previous else {}
        arrays: dict[str, Any] = {name: _unpacked(document[name], base.get(name)) for name in _ARRAYS}
        arrays["tiers"] = arrays["tiers"].astype(np.uint8)
        self.previous = ExpertsSampled(
            seq=_typed(int, document["seq"]),
            t_ns=_typed(int, document["t_ns"]),
            request_id=_typed(int, document["request_id"]),
            moe_layers=_typed(tuple[int, ...], document["moe_layers"]),
            **arrays,
        )
        _check_shapes(self.previous)
        return self.previous


def _check_shapes(sample: ExpertsSampled) -> None:
    shapes = {getattr(sample, name).shape for name in _ARRAYS}
    if len(shapes) != 1 or sample.tiers.ndim != 2 or len(sample.tiers) != len(sample.moe_layers):
        raise ValueError("arrays of different shapes")


def _base(previous: ExpertsSampled | None, event: ExpertsSampled) -> dict[str, NDArray[Any]]:
    if previous is None or previous.tiers.shape != event.tiers.shape:
        return {}
    return {name: getattr(previous, name) for name in _ARRAYS}


def _packed(values: NDArray[Any], base: NDArray[Any] | None) -> Document:
    change = values.astype(np.int64) - (0 if base is None else base.astype(np.int64))
    lowest, highest = int(change.min(initial=0)), int(change.max(initial=0))
    dtype = np.result_type(np.min_scalar_type(lowest), np.min_scalar_type(highest))
    data = zlib.compress(change.astype(dtype.newbyteorder("<")).tobytes(), level=1)
    return {
        "shape": list(values.shape),
        "dtype": dtype.newbyteorder("<").str,
        "is_change": base is not None,
        "zlib": base64.b64encode(data).decode("ascii"),
    }


def _unpacked(document: Document, base: NDArray[Any] | None) -> NDArray[Any]:
    data = zlib.decompress(base64.b64decode(document["zlib"]))
    change = np.frombuffer(data, np.dtype(document["dtype"])).reshape(document["shape"]).astype(np.int64)
    if not document["is_change"]:
        return change
    if base is None or base.shape != change.shape:
        raise ValueError("a change without the sample before it")
    return typing.cast("NDArray[Any]", base.astype(np.int64) + change)


def _plain(value: Any) -> Any:  # noqa: ANN401 - any field of any event
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {
            field.name: _field_value(field.name, getattr(value, field.name))
            for field in dataclasses.fields(value)
            if field.name not in _LEFT_OUT
        }
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, tuple | list):
        return [_plain(item) for item in value]
    return value


def _field_value(name: str, value: Any) -> Any:  # noqa: ANN401 - any field of any event
    return PurePath(value).name if name == "path" else _plain(value)


def _typed(hint: Any, value: Any) -> Any:  # noqa: ANN401 - the value that the hint asks for
    """`value` of a JSON document as what a field's type hint says; unknown fields are ignored."""
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin in (typing.Union, types.UnionType):
        return None if value is None else _typed(arguments[0], value)
    if origin is tuple:
        return tuple(_typed(arguments[0], item) for item in value)
    if dataclasses.is_dataclass(hint):
        hints = typing.get_type_hints(hint)
        given = {**_LEFT_OUT, **value}
        return typing.cast(type, hint)(
            **{
                f.name: _typed(hints[f.name], given[f.name])
                for f in dataclasses.fields(hint)
                if f.name in given
            }
        )
    if origin is dict:
        return {_typed(arguments[0], key): _typed(arguments[1], item) for key, item in value.items()}
    if isinstance(hint, type) and issubclass(hint, Enum):
        return hint(value)
    return _scalar(hint, value)


def _scalar(hint: type, value: Any) -> Any:  # noqa: ANN401 - the value that the hint asks for
    if hint is float and type(value) is int:
        return float(value)
    if type(value) is not hint:
        raise TypeError(f"{value!r} is no {hint.__name__}")
    return value
