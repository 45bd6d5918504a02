"""From velocities to momenta: a mechanical system as a Hamiltonian one."""

from __future__ import annotations

from types import SimpleNamespace

import casadi as ca
import numpy as np

from kreisel.groups import R
from kreisel.mechanics.hamiltonian import Hamiltonian
from kreisel.mechanics.node import Ground
from kreisel.mechanics.system import System
from kreisel.methods.elements import Elements, Member, MultiplierView, NodeView


def hamiltonian_of(system: System) -> Hamiltonian:
    r"""The system by coordinates and momenta (Legendre transform), with its actuators as inputs.

    .. math:: p = \tilde M(q)\,v, \qquad H(q, p) = \tfrac12\,p\cdot\tilde M(q)^{-1} p + V(q)

    For systems without constraints on a vector space, such as an open tree in minimal coordinates. Forces other than those of potentials
    and of named inputs would be no part of H and are refused, as are inputs whose directions depend on q.

    >>> import kreisel as kr
    >>> arm = hamiltonian_of(kr.models.three_link("minimal", rates=(0.1, 0.2, 0.3)))
    >>> arm.dim, arm.controls
    (3, ['u1', 'u2', 'u3'])
    >>> sol = kr.simulate(arm, until=1, step=0.05, method=kr.Gonzalez(), controls={"u1": 100.0})
    >>> bool(np.ptp(sol.balance) < 1e-9)
    True
    """
    for e, rows, pfaffian in zip(system.elements, system.rows, system.pfaffian_rows, strict=True):
        if rows or pfaffian:
            raise ValueError(f"'{e.name}' is a constraint; a Hamiltonian system has none, coordinates='minimal' of an open tree fit")
        if (e.power is not None or e.routine is not None) and e.control is None:
            raise ValueError(f"'{e.name}' has a force without potential, as friction is; a Hamiltonian system has none but named inputs")
    for node in system.nodes:
        if not isinstance(node.group, R) or node.size("v") != node.group.dim:
            raise ValueError(f"'{node.name}' has coordinates on {node.group} and no vector space; a Hamiltonian system needs R(n)")

    views = [NodeView(node, ("v",), ()) for node in system.nodes]
    members = [_member(system, k) for k in range(len(system.elements))]
    empty = MultiplierView(0, ())
    t = ca.SX.sym("t")
    everything = Elements(views, members, ca.SX.sym("h"), t, empty, empty)
    q, v = ca.vertcat(*everything.q), ca.vertcat(*everything.get("v"))
    p = ca.vertcat(*everything.momentum(everything.get("v")))
    M, V = ca.jacobian(p, v), everything.energy(t, everything.q, everything.get("v"))
    for m in members:
        if any(ca.depends_on(V, getattr(m.parameters, name)) for name in m.element.memory):
            raise ValueError(f"'{m.element.name}' remembers something from step to step; the energy of a Hamiltonian system does not")
    if ca.depends_on(V, t):
        raise ValueError("the potential energy depends on time; that of a Hamiltonian system does not")
    momenta = ca.SX.sym("p", system.dim)
    H = ca.Function("H", [q, momenta], [_kinetic(M, momenta) + V])

    columns = []
    for name in system.controls:
        parts = [m for m in members if m.element.control == name]
        own = Elements(views, parts, everything.h, t, empty, empty)
        for m in parts:
            m.parameters.u = ca.SX(1)
        b = ca.simplify(ca.densify(ca.vertcat(*own.force(t, own.q, own.get("v"), potentials=False))))
        columns.append(_constant(b, ca.vertcat(q, v), name))
    start = np.concatenate([node.q for node in system.nodes]), np.concatenate([node.v for node in system.nodes])
    p_start = ca.Function("p", [q, v], [p])(*start).full().ravel()
    return Hamiltonian(lambda q, p: H(q, p), system.dim, start[0], p_start, system.controls, np.reshape(columns, (-1, system.dim)).T)


def _member(system: System, k: int) -> Member:
    """An element with its numbers."""
    e = system.elements[k]
    places = [None if b == Ground.name else system.number[b] for b in e.bodies]
    numbers = {name: ca.SX(ca.DM(np.ravel(a))) for name, a in e.parameters.items()}
    memory = {name: ca.SX.sym(name, np.size(a)) for name, a in e.memory.items()}
    return Member(e, places, SimpleNamespace(**numbers, **memory), slice(0, 0), slice(0, 0))


def _kinetic(M: ca.SX, p: ca.SX) -> ca.SX:
    """p . M^-1 p / 2 by elimination without pivoting, as a positive definite matrix allows: y . y / 2 with M = L D L^T, L sqrt(D) y = p."""
    n, M, y, T = p.numel(), ca.SX(ca.densify(M)), ca.SX(p), ca.SX(0)
    for k in range(n):
        T += y[k] ** 2 / M[k, k] / 2
        for i in range(k + 1, n):
            factor = M[i, k] / M[k, k]
            y[i] -= factor * y[k]
            M[i, k + 1 :] -= factor * M[k, k + 1 :]
    return T


def _constant(b: ca.SX, x: ca.SX, name: str) -> np.ndarray:
    """The numbers that b is, whatever x is. That it is, is seen at some places: formulas of joints do not always simplify."""
    rng = np.random.default_rng(0)
    f = ca.Function("b", [x], [b])
    values = np.array([f(rng.normal(size=x.numel())).full().ravel() for _ in range(5)])
    if not np.all(np.isfinite(values)) or np.ptp(values, axis=0).max() > 1e-12 * max(1.0, np.abs(values).max()):
        raise ValueError(
            f"control '{name}': the direction in which it acts depends on the coordinates; that of a Hamiltonian system is constant"
        )
    return np.asarray(np.where(np.abs(values[0]) < 1e-14, 0.0, values[0]))
