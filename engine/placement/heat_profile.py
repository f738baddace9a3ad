"""What was learned about a model's experts, kept between sessions: one small file per model.

The file is a digest and then an npz archive, so that a damaged one is known before anything is parsed.
"""

from __future__ import annotations

import hashlib
import io
import os
import tempfile
import zipfile
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from engine.errors import ProfileFileError
from engine.placement.promotion import DECAY_PER_TOKEN

_VERSION = 1
_DIGEST_BYTES = 32
_MOST_BYTES = 256 << 20
Heat = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class HeatProfile:
    """`chance`: that a token picks the expert (exact routing); `heat`: of resident pools.

    Both have shape (len(moe_layers), experts); None: that routing has not run yet.
    """

    moe_layers: tuple[int, ...]
    chance: Heat | None = None
    heat: Heat | None = None

    def chance_of(self, layers: Sequence[int], n_expert: int, top_k: int) -> Heat | None:
        """Chances of these layers, shape (layers, n_expert); from the pools' heat if need be.

        A layer that was never seen has chances of 0. None: nothing is known, or of another shape.
        """
        found = self._rows(self.chance if self.chance is not None else self.heat, layers, n_expert)
        if found is None or self.chance is not None:
            return found
        total = np.maximum(found.sum(axis=1, keepdims=True), 1e-300)
        chance: Heat = np.minimum(found * top_k / total, 1.0)
        return chance

    def heat_of(self, layers: Sequence[int], n_expert: int) -> Heat | None:
        """Heat for the pools of these layers; chances serve too: heat settles at a fixed multiple of them."""
        if self.heat is not None:
            return self._rows(self.heat, layers, n_expert)
        chance = self._rows(self.chance, layers, n_expert)
        return None if chance is None else chance / (1 - DECAY_PER_TOKEN)

    def _rows(self, table: Heat | None, layers: Sequence[int], n_expert: int) -> Heat | None:
        if table is None or table.shape[1] < n_expert:
            return None
        index = {layer: row for row, layer in enumerate(self.moe_layers)}
        rows = np.zeros((len(layers), n_expert))
        for place, layer in enumerate(layers):
            if layer in index:
                rows[place] = table[index[layer], :n_expert]
        return rows


@dataclass(frozen=True, slots=True)
class ProfileFile:
    """Where the profile of the model with this fingerprint is kept."""

    folder: Path
    fingerprint: str

    @property
    def path(self) -> Path:
        return self.folder / f"{self.fingerprint}.heat"

    def check_writable(self) -> None:
        """Make the folder and try it; raises ProfileFileError."""
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryFile(dir=self.folder):
                pass
        except OSError as error:
            raise self._unwritable(error) from error

    def load(self) -> HeatProfile | None:
        """None if there is no file; raises ProfileFileError if it is damaged or of another model."""
        try:
            if self.path.stat().st_size > _MOST_BYTES:
                raise ValueError("it is far too large")
            return self._parse(self.path.read_bytes())
        except FileNotFoundError:
            return None
        except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile) as error:
            raise ProfileFileError(
                f"The heat profile {self.path.name} can't be used: {error}.",
                "It is ignored and replaced by what is learned from now on.",
            ) from error

    def save(self, profile: HeatProfile) -> None:
        """Whole or not at all; raises ProfileFileError."""
        content = self._content(profile)
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            handle, name = tempfile.mkstemp(prefix=self.fingerprint, suffix=".part", dir=self.folder)
            part = Path(name)
            try:
                with os.fdopen(handle, "wb") as file:
                    file.write(content)
                    file.flush()
                    os.fsync(file.fileno())
                part.replace(self.path)
            except BaseException:
                with suppress(OSError):
                    part.unlink()
                raise
        except OSError as error:
            raise self._unwritable(error) from error

    def _content(self, profile: HeatProfile) -> bytes:
        body = io.BytesIO()
        nothing = np.empty((0, 0))
        np.savez_compressed(
            body,
            version=np.array(_VERSION),
            fingerprint=np.array(self.fingerprint),
            moe_layers=np.array(profile.moe_layers, np.int64),
            chance=nothing if profile.chance is None else profile.chance,
            heat=nothing if profile.heat is None else profile.heat,
        )
        return hashlib.sha256(body.getbuffer()).digest() + body.getvalue()

    def _parse(self, content: bytes) -> HeatProfile:
        body = content[_DIGEST_BYTES:]
        if hashlib.sha256(body).digest() != content[:_DIGEST_BYTES]:
            raise ValueError("it is damaged")
        with np.load(io.BytesIO(body), allow_pickle=False) as stored:
            if int(stored["version"]) != _VERSION:
                raise ValueError(f"it has version {int(stored['version'])}, this program reads {_VERSION}")
            if str(stored["fingerprint"]) != self.fingerprint:
                raise ValueError("it belongs to another model")
            layers = tuple(stored["moe_layers"].tolist())
            tables = {
                name: _table(stored[name], len(layers)) for name in ("chance", "heat") if name in stored
            }
        return HeatProfile(layers, tables.get("chance"), tables.get("heat"))

    def _unwritable(self, error: OSError) -> ProfileFileError:
        return ProfileFileError(
            f"The heat profile can't be kept in {self.folder} ({error.strerror}).",
            "Make the folder writable, or choose another (--profile-dir).",
        )


def _table(array: Heat, n_layer: int) -> Heat | None:
    """None for an empty table; raises ValueError for what can't be one."""
    if array.size == 0:
        return None
    is_sound = (
        array.dtype == np.float64
        and array.shape == (n_layer, array.shape[-1])
        and bool(np.isfinite(array).all())
        and bool((array >= 0).all())
    )
    if not is_sound:
        raise ValueError("its tables are not what they should be")
    return array
