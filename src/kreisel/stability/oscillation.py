r"""How a method amplifies an oscillation: one step of it on

.. math:: x'' + 2\zeta\omega x' + \omega^2 x = 0

is a linear map of its states, z_{n+1} = T z_n. The map depends on h omega and zeta alone once the states are measured in units of the
step. It is taken from the method's own step: T e_j is what the compiled step makes of the state e_j.
"""

from __future__ import annotations

from types import SimpleNamespace

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike, NDArray

from kreisel.engine import driver
from kreisel.groups import R
from kreisel.mechanics.element import Element
from kreisel.mechanics.frame import Frame
from kreisel.mechanics.hamiltonian import Hamiltonian
from kreisel.mechanics.node import Node
from kreisel.mechanics.system import System
from kreisel.methods import Method
from kreisel.models import oscillator
from kreisel.simulation.newton import Newton
from kreisel.simulation.packs import Layout
from kreisel.simulation.prepare import SYMBOLS, prepare

Array = NDArray[np.float64]


def amplification(method: Method, h_omega: ArrayLike, damping: ArrayLike = 0.0) -> Array:
    """The amplification matrix T of a method, (..., n, n), in its own states: the coordinate x, then ``method.states``, with h = 1.

    ``h_omega``: step times frequency. ``damping``: the damping ratio zeta. Both follow NumPy's rules of broadcasting. States that others
    determine give eigenvalues zero; how a first step opens does not enter.

    >>> import kreisel as kr
    >>> amplification(kr.RATTLie(), 1.0)[:2, :2]  # x and v: Störmer and Verlet
    array([[ 0.5 ,  1.  ],
           [-0.75,  0.5 ]])
    """
    x, zeta = np.broadcast_arrays(np.asarray(h_omega, dtype=float), np.asarray(damping, dtype=float))
    if not np.all(np.isfinite(x)) or not np.all(x > 0):
        raise ValueError(f"h_omega must be positive, got {h_omega!r}")
    with SYMBOLS:
        system = _hamiltonian() if method.hamiltonian else oscillator(mass=1.0, damping=1.0, stiffness=1.0)
        if method.hamiltonian and np.any(zeta):
            raise ValueError(f"{method} is for Hamiltonian systems, which have no damping")
        reason = method.refuse(system)
        if reason:
            raise ValueError(f"{method} does not fit an oscillator: {reason}")
        # From the guess zero, Newton's method gives even small results with all their digits.
        prepared = prepare(system, method, "zero")
    # The programs may be those of another oscillator; the numbers are of this one.
    layout = Layout(system, method)
    (places,) = layout.nodes
    columns = np.array([places[name] for name in ("q", *method.states)])
    n, count = len(columns), x.size
    S = np.zeros((count, n, prepared.main.size))
    S[..., : layout.size] = layout.start()
    S[..., columns] = np.eye(n)
    for places, e in zip(layout.parameters, system.elements, strict=True):
        for name, values in {"k": x.ravel() ** 2, "d": 2 * zeta.ravel() * x.ravel()}.items():
            if name in e.parameters:
                S[..., places[name]] = values[:, None]
    runs = S.reshape(count * n, -1)
    fractions = np.array(method.substeps())
    m = len(fractions)
    starts, hs = m * np.arange(len(runs) + 1), np.tile(fractions, len(runs))
    ts = np.tile(np.concatenate([[0.0], np.cumsum(fractions)]), len(runs))
    newton = Newton()
    tolerances = prepared.main.tolerances(newton.atol, newton.rtol)
    codes, _ = prepared.main.run_each(runs, starts, hs, ts, tolerances, newton.options(), np.zeros((len(runs), 8), dtype=np.int64))
    T = runs[:, columns].reshape(count, n, n).transpose(0, 2, 1)
    # A step that has no solution (a pole of the map) amplifies without bound.
    T[np.any(codes.reshape(count, n) != driver.DONE, axis=1)] = np.inf
    return np.ascontiguousarray(T.reshape(*x.shape, n, n))


def spectral_radius(method: Method, h_omega: ArrayLike, damping: ArrayLike = 0.0) -> Array:
    """The largest modulus of the eigenvalues of the amplification matrix: the oscillation does not grow if it is at most 1.

    Where eigenvalues are defective, as at 1 without damping, they are good to a root of the rounding only.

    >>> import kreisel as kr
    >>> spectral_radius(kr.RATTLie(), [1.9, 2.1]).round(3)  # explicit in the potential: stable up to h omega = 2
    array([1.   , 1.877])
    """
    T = amplification(method, h_omega, damping)
    finite = np.all(np.isfinite(T), axis=(-2, -1))
    out = np.full(T.shape[:-2], np.inf)
    out[finite] = np.abs(np.linalg.eigvals(_balanced(T[finite]))).max(axis=-1)
    return out


def _balanced(T: Array) -> Array:
    """The same eigenvalues, with rows and columns of like size: states have units of their own."""
    T = T.copy()
    for _ in range(20):
        off = np.abs(T) * (1 - np.eye(T.shape[-1]))
        rows, columns = off.sum(axis=-1), off.sum(axis=-2)
        fit = (rows > 0) & (columns > 0)
        f = np.where(fit, 2.0 ** np.round(np.log2(np.where(fit, columns / np.where(rows > 0, rows, 1), 1.0)) / 2), 1.0)
        T = T * f[..., :, None] / f[..., None, :]
    return T


class _Energy(Element):
    """p^2/2 + k q^2/2."""

    def __init__(self) -> None:
        super().__init__("H", "q")
        self.parameters = {"k": np.ones(1)}

    def potential(self, p: SimpleNamespace, t: ca.SX, node: Frame) -> ca.SX:
        return (node.v[0] ** 2 + p.k * node.q[0] ** 2) / 2


def _hamiltonian() -> System:
    return Hamiltonian.of([Node("q", R(1))], [_Energy()])
