"""Energy functionals of a scheme along its solutions."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from kreisel.methods import GeneralizedAlpha
from kreisel.simulation.assembly import Assembly
from kreisel.simulation.eigenmodes import Mass
from kreisel.simulation.packs import Layout
from kreisel.simulation.solution import Solution
from kreisel.simulation.statics import Static

Array = NDArray[np.float64]


def modified_energy(solution: Solution) -> Array:
    r"""The energy that belongs to generalized-alpha, :math:`E + h^2 (\beta - \gamma/2)\, a \cdot M a / 2` with its own a_n (Erlicher et
    al.; Klemps, 4.1), for constant steps.

    In linear problems it decreases in special cases where E need not; with a stiff spring neither always does.

    >>> import kreisel as kr
    >>> sol = kr.simulate(kr.models.oscillator(), until=1.0, step=0.01, method=kr.GeneralizedAlpha())
    >>> bool((modified_energy(sol) > sol.energy).all())
    True
    """
    method = solution.method
    if not isinstance(method, GeneralizedAlpha):
        raise ValueError(f"this energy belongs to GeneralizedAlpha, the solution is by {method}")
    steps = np.diff(solution.t) / solution._every
    if np.ptp(steps) > 1e-9 * steps.max():
        raise ValueError("this energy is for constant steps")
    h = float(steps[0])
    layout = Layout(solution.system, Static())
    M = Assembly(layout, Mass())(layout.start(), np.zeros(solution.system.dim + sum(solution.system.rows)))[1]
    n = solution.system.dim
    a = solution.a + h * solution._state("offset")
    return np.asarray(solution.energy + h**2 * (method.beta - method.gamma / 2) / 2 * np.einsum("ni,ni->n", a, (M[:n, :n] @ a.T).T))
