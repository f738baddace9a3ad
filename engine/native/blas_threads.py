"""numpy's matrix products keep to the thread that asks for them."""

from __future__ import annotations

from functools import cache

from threadpoolctl import threadpool_limits


@cache
def use_one_blas_thread() -> None:
    """For the rest of the process: helpers of a BLAS library spin after a product, on cores that ggml needs.

    With them a prompt computes a third slower. Any thread.
    """
    threadpool_limits(1, user_api="blas")
