"""Which layers llama.cpp puts on which devices: the last ones, in the devices' order."""

from __future__ import annotations

import ctypes as c
from dataclasses import dataclass
from typing import Any

from engine.native.devices import Device


@dataclass(frozen=True, slots=True)
class DeviceShare:
    """`layers[i]` consecutive layers go to `devices[i]`; layers before them stay with the processor.

    Layers include the output, which counts as one and comes last. Without devices everything stays.
    """

    devices: tuple[Device, ...] = ()
    layers: tuple[int, ...] = ()

    def write(self, params: Any) -> tuple[object, ...]:  # noqa: ANN401 - a struct of llama_cpp
        """Set the fields of `llama_model_params`; keep what is returned as long as the model."""
        handles = (c.c_void_p * (len(self.devices) + 1))(*(device.address for device in self.devices), None)
        split = (c.c_float * (len(self.layers) + 1))(*self.layers)
        params.n_gpu_layers = sum(self.layers)
        params.devices = c.addressof(handles)  # an empty list: no device, whatever the library knows
        params.tensor_split = split
        return handles, split

    def check(self) -> None:
        """Raise DeviceLostError if a device is gone."""
        for device in self.devices:
            device.check()
