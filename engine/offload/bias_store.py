"""Per-expert bias rows of all layers in RAM: small, so they are read once and copied into slots."""

from __future__ import annotations

from engine.gguf.expert_layout import LayerExperts
from engine.native.memory import HugeBuffer
from engine.offload.dense_reader import Destination


class BiasStore:
    """Address of every bias tensor, one contiguous copy each; owned by the engine thread."""

    def __init__(self, layers: tuple[LayerExperts, ...]) -> None:
        self._tensors = [bias.tensor for layer in layers for bias in layer.biases]
        self.size_bytes = sum(tensor.size_bytes for tensor in self._tensors)
        self._buffer = HugeBuffer(self.size_bytes) if self._tensors else None
        self._addresses: dict[str, int] = {}
        address = self._buffer.address if self._buffer else 0
        for tensor in self._tensors:
            self._addresses[tensor.name] = address
            address += tensor.size_bytes

    def destinations(self) -> list[Destination]:
        """Where the dense reader puts each bias tensor."""
        return [Destination(tensor, self._addresses[tensor.name]) for tensor in self._tensors]

    def addresses(self, layer: LayerExperts) -> tuple[int, ...]:
        """Addresses of the layer's bias tensors, in the layer's order."""
        return tuple(self._addresses[bias.tensor.name] for bias in layer.biases)

    def close(self) -> None:
        """Free the memory; idempotent."""
        if self._buffer is not None:
            self._buffer.close()
