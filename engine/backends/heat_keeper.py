"""Connects one loaded model with its heat profile: what it starts from, what it leaves behind."""

from __future__ import annotations

import numpy as np

from engine.config import LoadSettings, Routing
from engine.errors import ProfileFileError
from engine.gguf.expert_layout import LayerExperts
from engine.gguf.fingerprint import model_fingerprint
from engine.gguf.model_file import ModelFile
from engine.offload.expert_pipeline import LayerSlots
from engine.offload.pass_statistics import PassStatistics
from engine.placement.heat_profile import Heat, HeatProfile, ProfileFile
from engine.placement.resident_pools import ResidentPools

_KNOWN_TOKENS = 500  # what a profile weighs against the picks counted in this session


class HeatKeeper:
    """Owned by the engine thread. `notes`: sentences for ModelInfo; a profile never makes a load fail."""

    def __init__(
        self, settings: LoadSettings, model: ModelFile, layers: tuple[LayerExperts, ...], top_k: int
    ) -> None:
        self.notes: tuple[str, ...] = ()
        self._layers, self._top_k = layers, top_k
        self._numbers = tuple(layer.layer for layer in layers)
        self._width = max((layer.n_expert for layer in layers), default=0)
        self._is_resident = settings.routing is Routing.RESIDENT
        self._profile = HeatProfile(self._numbers)
        self._file: ProfileFile | None = None
        if settings.profile_dir is None or not layers:
            return
        file = ProfileFile(settings.profile_dir, model_fingerprint(model))
        is_fixed = self._is_resident and settings.is_pool_fixed
        self._read(file, is_fixed)
        if not is_fixed:
            self._claim(file)

    def chance(self, layers: list[LayerExperts]) -> Heat | None:
        """Chances of these layers' experts as an earlier session saw them."""
        numbers = [layer.layer for layer in layers]
        return self._profile.chance_of(numbers, layers[0].n_expert, self._top_k)

    def heat(self) -> Heat | None:
        """Heat of all layers' pools as an earlier session left it."""
        return self._profile.heat_of(self._numbers, self._width)

    def save(self, layers: list[LayerSlots], pools: ResidentPools | None, statistics: PassStatistics) -> bool:
        """Write what was learned; whether it was written.

        A fault stops nothing here: a folder that can't be written was named when the model was loaded.
        """
        if self._file is None or not statistics.passes:
            return False
        if pools is not None:
            profile = HeatProfile(self._numbers, self._profile.chance, pools.learned())
        else:
            statistics.fold_watched()
            profile = HeatProfile(self._numbers, self._learned(layers, statistics), self._profile.heat)
        try:
            self._file.save(profile)
        except ProfileFileError:
            return False
        return True

    def _read(self, file: ProfileFile, is_fixed: bool) -> None:
        try:
            found = file.load()
        except ProfileFileError as error:
            self.notes += (str(error),)
            return
        if found is None:
            if is_fixed:
                self.notes += (
                    "There is no heat profile of this model yet, so the fixed pools hold the first experts "
                    "of each layer. Warm it up with resident routing first.",
                )
        elif found.moe_layers != self._numbers or not _fits(found, self._width):
            self.notes += ("The heat profile of this model has another shape and is ignored.",)
        else:
            self._profile = found

    def _claim(self, file: ProfileFile) -> None:
        try:
            file.check_writable()
        except ProfileFileError as error:
            self.notes += (str(error),)
        else:
            self._file = file

    def _learned(self, layers: list[LayerSlots], statistics: PassStatistics) -> Heat:
        chance = np.zeros((len(layers), self._width))
        for layer in layers:
            table = layer.slot_class.table
            if table.is_complete:  # nothing is evicted there, so nothing was estimated: count
                picks = statistics.uses[:, layer.index, : table.n_expert].sum(axis=0)
                chance[layer.index, : table.n_expert] = self._counted(layer, picks.astype(np.float64))
            else:
                chance[layer.index, : table.n_expert] = table.uses.lasting()[layer.row]
        return chance

    def _counted(self, layer: LayerSlots, picks: Heat) -> Heat:
        known = self.chance([layer.experts])
        tokens = float(picks.sum()) / self._top_k
        if known is not None:
            picks, tokens = picks + known[0] * _KNOWN_TOKENS, tokens + _KNOWN_TOKENS
        return picks / max(tokens, 1.0)


def _fits(profile: HeatProfile, width: int) -> bool:
    return all(
        table.shape == (len(profile.moe_layers), width)
        for table in (profile.chance, profile.heat)
        if table is not None
    )
