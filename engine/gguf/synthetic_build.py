"""Plans of the kinds of tensors that the layouts of a synthetic model are made of."""

from __future__ import annotations

from dataclasses import dataclass

from engine.gguf.synthetic_spec import Fill, SyntheticSpec, TensorPlan

_BIAS_SCALE = 0.1


@dataclass(frozen=True, slots=True)
class Build:
    """Plans tensors of the kinds a model is made of, with scales that keep the variance of what passes."""

    spec: SyntheticSpec

    def weight(self, name: str, *shape: int, scale: float | None = None, blank_rows: int = 0) -> TensorPlan:
        """A dense weight; the default scale keeps the variance of what passes through it."""
        deviation = shape[-1] ** -0.5 if scale is None else scale
        return TensorPlan(f"{name}.weight", shape, self.spec.dense_type, Fill.BLOCKS, deviation, blank_rows)

    def experts(self, name: str, n_out: int, n_in: int, type_name: str) -> TensorPlan:
        shape = (self.spec.n_expert, n_out, n_in)
        return TensorPlan(f"{name}.weight", shape, type_name, Fill.BLOCKS, n_in**-0.5)

    def ones(self, name: str, size: int) -> TensorPlan:
        return TensorPlan(f"{name}.weight", (size,), "F32", Fill.ONES)

    def normal(self, name: str, *shape: int, scale: float = _BIAS_SCALE) -> TensorPlan:
        return TensorPlan(name, shape, "F32", Fill.NORMAL, scale)

    def router(self, name: str) -> TensorPlan:
        # three standard deviations of logit: experts differ clearly, yet no token's choice is a single one
        shape = (self.spec.n_expert, self.spec.n_embd)
        return TensorPlan(f"{name}.weight", shape, "F32", Fill.ROUTER, 3 * self.spec.n_embd**-0.5)
