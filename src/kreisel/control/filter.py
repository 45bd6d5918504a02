"""The filter of a line search: what remembers how much violation and cost have been reached together."""

from __future__ import annotations


class Filter:
    """Pairs of violation and cost that no iterate may be as bad as, in both. The letters are those of Waechter and Biegler."""

    GAMMA, DELTA, S_THETA, S_PHI, ETA = 1e-5, 1.0, 1.1, 2.3, 1e-8

    def __init__(self, violation: float) -> None:
        self.pairs: list[tuple[float, float]] = []
        self.smallest, self.largest = 1e-4 * max(1.0, violation), 1e4 * max(1.0, violation)

    def forbids(self, violation: float, cost: float) -> bool:
        return violation > self.largest or any(violation >= v and cost >= c for v, c in self.pairs)

    def add(self, violation: float, cost: float) -> None:
        self.pairs.append(((1 - self.GAMMA) * violation, cost - self.GAMMA * violation))

    def descends(self, violation: float, slope: float, alpha: float) -> bool:
        """Whether a step promises so much less cost that this is what counts, (19)."""
        return slope < 0 and alpha * (-slope) ** self.S_PHI > self.DELTA * violation**self.S_THETA

    def shortest(self, violation: float, slope: float) -> float:
        """The length below which a step is given up, (23)."""
        alpha = self.GAMMA
        if slope < 0:
            alpha = min(alpha, self.GAMMA * violation / -slope)
            if violation <= self.smallest:
                alpha = min(alpha, self.DELTA * violation**self.S_THETA / (-slope) ** self.S_PHI)
        return 0.05 * alpha
