"""Connects one loaded model with its heat profile: what it starts from, what it leaves behind."""

from __future__ import annotations

from operator import itemgetter

import numpy as np
from numpy.typing import NDArray

from engine.config import LoadSettings, Routing
from engine.errors import ProfileFileError
from engine.gguf.expert_layout import LayerExperts
from engine.gguf.fingerprint import model_fingerprint
from engine.gguf.model_file import ModelFile
from engine.offload.pass_statistics import PassStatistics
from engine.offload.slot_layers import LayerSlots
from engine.placement.heat_profile import Heat, HeatProfile, ProfileFile
from engine.placement.placement_plan import PlacementPlan
from engine.placement.resident_pools import ResidentPools
from engine.placement.slot_table import SlotTable
from engine.placement.use_estimate import KnownUse

NO_HEAT = (
    "There is no heat profile of this model yet, so the fixed pools hold the first experts of each layer. "
    "Warm it up with resident routing first."
)
_MOST_KNOWN_TOKENS = 500  # that a profile weighs against the picks counted in this session


class HeatKeeper:
    """Owned by the engine thread. `notes`: sentences for ModelInfo; a profile never makes a load fail."""

    def __init__(
        self, settings: LoadSettings, model: ModelFile, layers: tuple[LayerExperts, ...], top_k: int
    ) -> None:
        self.notes: tuple[str, ...] = ()
        self._layers, self._top_k = layers, top_k
        self._numbers = tuple(layer.layer for layer in layers)
        self._width = max((layer.n_expert for layer in layers), default=0)
        self._profile = HeatProfile(self._numbers)
        self._uses_before: NDArray[np.int64] | None = None  # picks that the profile has already
        self._is_learning = not _is_fixed(settings)
        self._file: ProfileFile | None = None
        if settings.profile_dir is None or not layers:
            return
        self._file = ProfileFile(settings.profile_dir, model_fingerprint(model))
        self._read(self._file, not self._is_learning)
        if self._is_learning:
            self._claim(self._file)

    def known(self, layers: list[LayerExperts]) -> KnownUse | None:
        """What earlier sessions saw of these layers' experts."""
        numbers = [layer.layer for layer in layers]
        return self._profile.use_of(numbers, layers[0].n_expert, self._top_k)

    def heat(self) -> Heat | None:
        """Heat of all layers' pools as an earlier session left it."""
        return self._profile.heat_of(self._numbers, self._width)

    def save(self, layers: list[LayerSlots], pools: ResidentPools | None, statistics: PassStatistics) -> bool:
        """Write what was learned; whether it was written.

        A fault stops nothing here: a folder that can't be written was named when the model was loaded.
        """
        if self._file is None or not self._is_learning or not statistics.passes:
            return False
        try:
            self._file.save(self._learned(layers, pools, statistics))
        except ProfileFileError:
            return False
        return True

    def go_on(
        self,
        settings: LoadSettings,
        layers: list[LayerSlots],
        pools: ResidentPools | None,
        statistics: PassStatistics,
    ) -> None:
        """Pools are about to change: keep what was learned until now, as when the model is freed."""
        self.save(layers, pools, statistics)
        if self._is_learning and statistics.passes:
            self._profile = self._learned(layers, pools, statistics)
        statistics.fold()
        self._uses_before = statistics.uses.sum(axis=0)
        self._is_learning = not _is_fixed(settings)

    def forget_uses(self, layers: list[LayerSlots]) -> None:
        """Let the slots estimate uses from what was learned under the same routing, as after a load."""
        for table, members in _tables(layers):
            table.forget_uses(self.known(members))

    def _read(self, file: ProfileFile, is_fixed: bool) -> None:
        try:
            found = file.load()
        except ProfileFileError as error:
            self.notes += (str(error),)
            return
        if found is None:
            if is_fixed:
                self.notes += (NO_HEAT,)
        elif found.moe_layers != self._numbers or not _fits(found, self._width):
            self.notes += ("The heat profile of this model has another shape and is ignored.",)
        else:
            self._profile = found

    def _claim(self, file: ProfileFile) -> None:
        try:
            file.check_writable()
        except ProfileFileError as error:
            self.notes += (str(error),)
            self._file = None

    def _learned(
        self, layers: list[LayerSlots], pools: ResidentPools | None, statistics: PassStatistics
    ) -> HeatProfile:
        if pools is not None:
            return HeatProfile(self._numbers, self._profile.use, pools.learned())
        statistics.fold()
        return HeatProfile(self._numbers, self._used(layers, statistics), self._profile.heat)

    def _used(self, layers: list[LayerSlots], statistics: PassStatistics) -> KnownUse:
        uses = statistics.uses.sum(axis=0)
        if self._uses_before is not None:
            uses -= self._uses_before
        chance = np.zeros((len(layers), self._width))
        tokens = np.zeros(len(layers), np.int64)
        for layer in layers:
            table, index = layer.top, layer.index
            if table.is_complete:  # nothing is evicted there, so nothing was estimated: count
                picks = uses[index, : table.n_expert].astype(np.float64)
                chance[index, : table.n_expert], tokens[index] = self._counted(layer, picks)
            else:
                lasting = table.uses.lasting()
                chance[index, : table.n_expert] = lasting.chance[layer.top_row]
                tokens[index] = lasting.tokens[layer.top_row]
        return KnownUse(chance, tokens)

    def _counted(self, layer: LayerSlots, picks: Heat) -> tuple[Heat, int]:
        known = self.known([layer.experts])
        tokens = round(float(picks.sum()) / self._top_k)
        if known is not None:
            before = min(int(known.tokens[0]), _MOST_KNOWN_TOKENS)
            picks, tokens = picks + known.chance[0] * before, tokens + before
        return picks / max(tokens, 1), tokens


def saved_profile(settings: LoadSettings, model: ModelFile) -> tuple[HeatProfile | None, tuple[str, ...]]:
    """The profile that earlier sessions left of this model, None without one; and what is wrong with it."""
    if settings.profile_dir is None:
        return None, ()
    try:
        return ProfileFile(settings.profile_dir, model_fingerprint(model)).load(), ()
    except ProfileFileError as error:
        return None, (str(error),)


def known_use(profile: HeatProfile | None, plan: PlacementPlan, top_k: int) -> list[KnownUse | None]:
    """What a profile knows of each class of a plan."""
    if profile is None:
        return [None] * len(plan.classes)
    return [profile.use_of(c.spec.layers, c.spec.n_expert, top_k) for c in plan.classes]


def _is_fixed(settings: LoadSettings) -> bool:
    return settings.routing is Routing.RESIDENT and settings.is_pool_fixed


def _tables(layers: list[LayerSlots]) -> list[tuple[SlotTable, list[LayerExperts]]]:
    """Every table of slots, in RAM and on devices, with its layers by row."""
    places = [(layer.slot_class.table, layer.row, layer.experts) for layer in layers]
    places += [(layer.top, layer.top_row, layer.experts) for layer in layers if layer.device is not None]
    tables = {id(table): table for table, _, _ in places}
    return [
        (table, [experts for other, _, experts in sorted(places, key=itemgetter(1)) if other is table])
        for table in tables.values()
    ]


def _fits(profile: HeatProfile, width: int) -> bool:
    tables = (profile.use.chance if profile.use is not None else None, profile.heat)
    return all(table.shape[1] == width for table in tables if table is not None)
