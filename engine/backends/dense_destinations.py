"""Where the bytes of a mapped model's dense weights go."""

from __future__ import annotations

from functools import partial

from engine.gguf.model_file import ModelFile
from engine.native.model import NativeModel
from engine.native.tensor import data_of, store_bytes
from engine.offload.dense_reader import Destination


def dense_destinations(file: ModelFile, model: NativeModel) -> list[Destination]:
    """Memory of ours, plain and repacked, and memory of devices; a tensor may be in two of them."""
    by_name = {tensor.name: tensor for tensor in file.tensors}
    here = [Destination(by_name[name], data_of(at)) for name, at in model.dense.tensors.items()]
    repacked = [
        Destination(by_name[name], data_of(at), is_repacked=True)
        for name, at in model.repacked.tensors.items()
    ]
    there = [
        Destination(by_name[name], store=partial(store_bytes, at))
        for name, at in model.on_devices.tensors.items()
    ]
    return [*here, *repacked, *there]
