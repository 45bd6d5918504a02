"""What the steps of a method make of small deviations: from an equilibrium, and from a periodic motion after one period."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from kreisel.methods import Method
from kreisel.simulation.linearise import StepDerivative
from kreisel.simulation.packs import Layout
from kreisel.simulation.prepare import prepare
from kreisel.simulation.run import check
from kreisel.simulation.solution import Solution, State
from kreisel.simulation.start import start
from kreisel.stability.balance import Equilibrium, places

Complex = NDArray[np.complex128]


def step_eigenvalues(about: Equilibrium, method: Method, step: float) -> Complex:
    """The eigenvalues of a step of a method, linearised about an equilibrium, those of largest modulus first.

    Small deviations die out if all moduli are below 1. Constraints and states that others determine give zeros.

    >>> import kreisel as kr
    >>> top = kr.stability.equilibrium(kr.models.extended_top("SE3", stiffness=1e5, damping=10.0))
    >>> [float(abs(step_eigenvalues(top, m, 0.01)).max().round(4)) for m in (kr.GeneralizedAlpha(0.9), kr.RATTLie())]
    [0.9967, 17.4235]
    """
    system = about.solution.system
    check(system, method)
    if not (np.isfinite(step) and step > 0):
        raise ValueError(f"step must be positive, got {step}")
    layout = Layout(system, method)
    state = State(0.0, about.solution.q[-1], np.zeros(system.dim))
    S, errors = start(prepare(system, method), [layout], [step], initial=state)
    for error in errors.values():
        raise error
    return _sorted(StepDerivative(layout)(S[0, : layout.n_state], step)[0])


def floquet(solution: Solution, tolerance: float = 1e-3) -> Complex:
    """The Floquet multipliers of a periodic motion, as the method has it: eigenvalues of the product of the derivatives of all its steps,
    those of largest modulus first.

    ``solution``: one period, every step on record. Its last state must be its first one, up to ``tolerance``. A modulus above 1 tells an
    unstable motion. Of a motion without prescribed time one multiplier is 1 (to the accuracy of the method), and one more for every
    conserved quantity. States that a method carries besides q and v give multipliers near zero, or copies.

    >>> import kreisel as kr, numpy as np
    >>> turn = kr.simulate(kr.models.oscillator(mass=1.0, stiffness=1.0, damping=0.2), until=1.0, step=0.1)
    >>> floquet(turn, tolerance=10.0)[:2].round(3)  # of a decaying one it is the map of the whole run: exp((-0.1 + i 0.995) 1.0)
    array([0.492+0.759j, 0.492-0.759j])
    """
    if not solution.success:
        raise ValueError(f"the motion is not complete: {solution.message}")
    if solution._every > 1 or solution.stats.halvings:
        raise ValueError("Floquet multipliers need every step of the method on record (every=1, no halvings)")
    gap = max(float(np.abs(a).max()) for a in (places(solution, -1) - places(solution, 0), solution.v[-1] - solution.v[0]))
    if gap > tolerance:
        raise ValueError(f"the motion is not periodic: its end differs from its start by {gap:.3g}, more than tolerance = {tolerance:g}")
    derivative = StepDerivative(solution._layout)
    total = np.eye(derivative.local.size)
    for k, h in enumerate(np.diff(solution.t)):
        total = derivative(solution._records[k], float(h))[0] @ total
    return _sorted(total)


def _sorted(matrix: NDArray[np.float64]) -> Complex:
    values = np.linalg.eigvals(matrix).astype(complex)
    return np.asarray(values[np.argsort(-np.abs(values), kind="stable")])
