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
from engine.placement.use_estimate import KnownUse

_VERSION = 2
_DIGEST_BYTES = 32
_MOST_BYTES = 256 << 20
Heat = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class HeatProfile:
    """`use`: chances that a token picks an expert (exact routing); `heat`: of resident pools.

    Rows are `moe_layers`, columns experts; None: that routing has not run yet.
    """

    moe_layers: tuple[int, ...]
    use: KnownUse | None = None
    heat: Heat | None = None

    def use_of(self, layers: Sequence[int], n_expert: int, top_k: int) -> KnownUse | None:
        """What is known of these layers' experts; from the pools' heat if need be.

        A layer that was never seen has chances of 0. None: nothing is known, or of another shape.
        """
        if self.use is not None:
            chance = self._rows(self.use.chance, layers, n_expert)
            tokens = self._rows(self.use.tokens[:, None], layers, 1)
            assert tokens is not None, "as many rows as chances"
            return None if chance is None else KnownUse(chance, tokens[:, 0].astype(np.int64))
        heat = self._rows(self.heat, layers, n_expert)
        if heat is None:
            return None
        total = heat.sum(axis=1, keepdims=True)
        chance = np.minimum(heat * top_k / np.maximum(total, 1e-300), 1.0)
        return KnownUse(chance, np.rint(total[:, 0] / top_k).astype(np.int64))

    def heat_of(self, layers: Sequence[int], n_expert: int) -> Heat | None:
        """Heat for the pools of these layers; chances serve too: their tokens would have left that heat."""
        if self.heat is not None:
            return self._rows(self.heat, layers, n_expert)
        use = self.use_of(layers, n_expert, 1)
        if use is None:
            return None
        heat: Heat = use.chance * ((1 - DECAY_PER_TOKEN**use.tokens) / (1 - DECAY_PER_TOKEN))[:, None]
        return heat

    def _rows(
        self, table: NDArray[np.float64] | NDArray[np.int64] | None, layers: Sequence[int], width: int
    ) -> Heat | None:
        if table is None or table.shape[1] < width:
            return None
        index = {layer: row for row, layer in enumerate(self.moe_layers)}
        rows = np.zeros((len(layers), width))
        for place, layer in enumerate(layers):
            if layer in index:
                rows[place] = table[index[layer], :width]
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
            chance=nothing if profile.use is None else profile.use.chance,
            tokens=np.zeros(0, np.int64) if profile.use is None else profile.use.tokens,
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
            chance, heat = (_table(stored[name], len(layers)) for name in ("chance", "heat"))
            use = None if chance is None else KnownUse(chance, _counts(stored["tokens"], len(layers)))
            return HeatProfile(layers, use, heat)

    def _unwritable(self, error: OSError) -> ProfileFileError:
        return ProfileFileError(
            f"The heat profile can't be kept in {self.folder} ({error.strerror}).",
            "Make the folder writable, or choose another.",
            settings=("profile_dir",),
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


def _counts(array: NDArray[np.int64], n_layer: int) -> NDArray[np.int64]:
    if array.dtype != np.int64 or array.shape != (n_layer,) or (array < 0).any():
        raise ValueError("its tables are not what they should be")
    return array
