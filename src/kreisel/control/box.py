"""Bounds of an interior-point method: distances to them, the barrier, the longest step."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from kreisel.control.stages import Stages

Array = NDArray[np.float64]


class Box:
    """What has bounds: controls, slacks of path and end conditions, one after the other in one vector t."""

    def __init__(self, stages: Stages) -> None:
        s, N = stages.sizes, stages.steps
        b = stages.bounds
        self.shape = (N, s.u), (N, s.c), (s.e,)
        low, high = (
            np.concatenate([np.broadcast_to(x[i], n).ravel() for x, n in zip((b.u, b.c, b.e), self.shape, strict=True)]) for i in (0, 1)
        )
        self.low, self.high, self.equal = low, high, low == high
        self.has_low, self.has_high = np.isfinite(low) & ~self.equal, np.isfinite(high) & ~self.equal
        self.any = self.has_low | self.has_high
        self.count = int(self.has_low.sum() + self.has_high.sum())

    def parts(self, t: Array) -> tuple[Array, Array, Array]:
        """Of controls (N, u), path (N, c), end (e,)."""
        (N, u), (_, c), _ = self.shape
        return t[: N * u].reshape(N, u), t[N * u : N * (u + c)].reshape(N, c), t[N * (u + c) :]

    def inside(self, t: Array, margin: float) -> Array:
        """The nearest t that keeps away from the bounds by ``margin``, relative to the bound or the distance of both."""
        low, high = np.where(self.has_low, self.low, 0.0), np.where(self.has_high, self.high, 0.0)
        both = np.where(self.has_low & self.has_high, margin * (high - low), np.inf)
        t = np.where(self.has_low, np.maximum(t, low + np.minimum(margin * np.maximum(1, abs(low)), both)), t)
        t = np.where(self.has_high, np.minimum(t, high - np.minimum(margin * np.maximum(1, abs(high)), both)), t)
        return np.where(self.equal, self.low, t)

    def within(self, t: Array) -> Array:
        """t, but where rounding put it on a bound or beyond."""
        if not self.count:
            return t
        return np.where(self.any, np.clip(t, np.nextafter(self.low, np.inf), np.nextafter(self.high, -np.inf)), t)

    def distances(self, t: Array) -> tuple[Array, Array]:
        """To the bounds; 1 where there is none."""
        return np.where(self.has_low, t - self.low, 1.0), np.where(self.has_high, self.high - t, 1.0)

    def barrier(self, t: Array) -> float:
        low, high = self.distances(t)
        if not (low.min(initial=1.0) > 0 and high.min(initial=1.0) > 0):
            return np.inf
        return -float(np.log(low).sum() + np.log(high).sum())

    def force(self, t: Array) -> Array:
        """The gradient of the barrier."""
        low, high = self.distances(t)
        force: Array = self.has_high / high - self.has_low / low
        return force


def longest(x: Array, dx: Array, keep: float) -> float:
    """The largest step up to 1 that leaves positive x at least at ``keep`` x."""
    falling = dx < 0
    return float(min(1.0, np.min((keep - 1) * x[falling] / dx[falling], initial=1.0)))


def largest_of(x: Array) -> float:
    return float(np.abs(x).max(initial=0.0))
