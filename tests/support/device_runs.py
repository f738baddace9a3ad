"""Stock llama.cpp with all layers on a device, as the reference of our device slots."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from engine.backends.stock import StockModel
from engine.native.context import ContextSettings
from engine.native.device_share import DeviceShare
from engine.native.devices import DeviceSet
from tests.support.exact_runs import CONTEXT_TOKENS, Logits, prompt_tokens

_ALL_LAYERS = 999


@cache
def run_stock_on_device(
    path: Path, device: str, unit: int, n_prompt: int, n_decode: int, tokens: tuple[int, ...] | None = None
) -> tuple[Logits, ...]:
    """The prompt's last logits, then greedy decoding, as `exact_runs.run_ours`; `tokens`: another prompt.

    Computed once per session for equal arguments.
    """
    devices = DeviceSet([device])
    share = DeviceShare(tuple(devices.devices), (_ALL_LAYERS,))
    model = StockModel(path, ContextSettings(CONTEXT_TOKENS, unit, 1), share=share)
    try:
        steps = [model.evaluate(prompt_tokens(n_prompt) if tokens is None else list(tokens), 0)]
        for index in range(n_decode):
            steps.append(model.evaluate([int(steps[-1].argmax())], n_prompt + index))
        return tuple(steps)
    finally:
        model.close()
        devices.close()
