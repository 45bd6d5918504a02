"""Nodes whose coordinates are functions of fewer ones that a user gives: mixed sets, as trolley, rope and angle of a crane."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import SimpleNamespace

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike, NDArray

from kreisel.groups import R
from kreisel.mechanics.carrier import Carrier, Redundant
from kreisel.mechanics.element import Element
from kreisel.mechanics.node import Ground, Node

Array = NDArray[np.float64]
Formula = Callable[[ca.SX], Mapping[str, ca.SX]]

#: How far around the start, in how many places, and how well a constraint must hold to count as satisfied by itself.
DISTANCE, SAMPLES, HOLDS = 0.1, 5, 1e-10


class Parametrised(Carrier):
    """Nodes on vector spaces with coordinates q_b(theta), where theta is in R(n): their velocities are the derivatives of these.

    ``constraints``: those that hold by themselves for such coordinates, by all coordinates that are carried, ``{name: column}``.
    ``labels``: names of the coordinates, if they have any.
    """

    labels: tuple[str, ...] = ()

    def __init__(self, name: str, formula: Formula, carried: Sequence[Node], q: ArrayLike, v: ArrayLike | None = None) -> None:
        self.formula = formula
        self.constraints: Callable[[Mapping[str, ca.SX]], ca.SX] = lambda columns: ca.SX(0, 1)
        super().__init__(name, R(np.size(q)), carried, q, v)

    def inside(self, q: ca.SX, v: ca.SX) -> dict[str, tuple[ca.SX, ca.SX]]:
        theta = self.group.symbol("theta")
        columns = {name: ca.SX(column) for name, column in self.formula(theta).items()}
        return {name: tuple(ca.substitute([x, ca.jtimes(x, theta, v)], [theta], [q])) for name, x in columns.items()}


class RedundantlyParametrised(Redundant, Parametrised):
    """The same with the velocities of all carried nodes.

    The discrete null space is that of the constraint matrix G in the middle, nearest to the derivative of the formula there: P = (I - G^T
    (G G^T)^-1 G) dq/dtheta. (For quadratic constraints, which a discrete derivative takes in the middle.)
    """

    @classmethod
    def of(cls, node: Parametrised) -> RedundantlyParametrised:
        """With velocities that the coordinates of the node allow."""
        v = np.concatenate([node.evaluate(name, node.q[None], node.v[None])[1][0] for name in node.carried])
        new = cls(node.name, node.formula, node.bodies, node.q, v)
        new.constraints = node.constraints
        return new

    def mean_velocity(self, q: ca.SX, v: ca.SX, h: ca.SX) -> ca.SX:
        """The rates theta' that come nearest to v."""
        J = ca.jacobian(self.coordinates(q), q)
        return ca.solve(ca.mtimes(J.T, J), ca.mtimes(J.T, v))

    def null_space(self, theta: ca.SX, middle: Mapping[str, ca.SX], u: ca.SX) -> dict[str, ca.SX]:
        q = {name: ca.SX.sym("q", column.numel()) for name, column in middle.items()}
        theta_0 = ca.SX.sym("theta", theta.numel())
        symbols = ca.vertcat(*q.values())
        G = ca.jacobian(self.constraints(q), symbols)
        motion = ca.jtimes(self.coordinates(theta_0), theta_0, u)
        if G.numel():
            motion -= ca.mtimes(G.T, ca.solve(ca.mtimes(G, G.T), ca.mtimes(G, motion)))
        motion = ca.substitute(motion, ca.vertcat(symbols, theta_0), ca.vertcat(*middle.values(), theta))
        ends = np.cumsum([0, *(column.numel() for column in q.values())]).tolist()
        return dict(zip(q, ca.vertsplit(motion, ends), strict=True))


def parametrise(
    nodes: Sequence[Node], elements: Sequence[Element], formula: Formula, q: ArrayLike, v: ArrayLike | None, name: str
) -> tuple[list[Node], list[Element]]:
    """The nodes with one in the place of those the formula gives, and the elements without the constraints that hold by themselves or say
    what others say."""
    n = np.size(q)
    columns = {key: ca.SX(column) for key, column in formula(ca.SX.sym("theta", n)).items()}
    known = {node.name: node for node in nodes}
    for key, column in columns.items():
        if key not in known:
            raise ValueError(f"the formula gives coordinates of '{key}', which does not exist; there are {sorted(known)}")
        if not isinstance(known[key].group, R):
            raise ValueError(f"'{key}' has coordinates on {known[key].group}; only those in vector spaces can be functions of others")
        if column.numel() != known[key].group.dim:
            raise ValueError(f"'{key}' has {known[key].group.dim} coordinates, the formula gives {column.numel()}")
    node = Parametrised(name, formula, [known[key] for key in columns], q, v)
    held = [satisfied(e, node) for e in elements]
    idle = [sorted(a + b) for a, b in zip(held, repeated(elements, held, node), strict=True)]
    kept = [e.without([(i, "constraint") for i in rows]) for e, rows in zip(elements, idle, strict=True)]
    time = ca.SX(0)
    node.constraints = lambda columns: ca.vertcat(
        ca.SX(0, 1), *(rows_of(e, node, time, columns)[rows] for e, rows in zip(elements, held, strict=True) if rows)
    )
    return [node, *(other for other in nodes if other.name not in columns)], kept


def rows_of(e: Element, node: Carrier, t: ca.SX, columns: Mapping[str, ca.SX]) -> ca.SX:
    """The constraint of an element on carried bodies, with its numbers, by the coordinates of these."""
    if e.constraint is None or not set(e.bodies) <= {Ground.name, *node.carried}:
        return ca.SX(0, 1)
    p = SimpleNamespace(**{k: ca.SX(np.ravel(a)) for k, a in (e.parameters | e.memory).items()})
    frames = [
        Ground().frame() if b == Ground.name else node.carried[b].frame(columns[b], ca.SX.zeros(columns[b].numel())) for b in e.bodies
    ]
    return ca.SX(e.constraint(p, t, *frames))


def polynomials(elements: Sequence[Element], node: Parametrised) -> list[list[tuple[int, Array, Array, float]]]:
    """Of each element the rows of its constraint that are at most quadratic in the coordinates theta of the node, for all times: their
    numbers, and H, g, c of theta . H theta/2 + g . theta + c."""
    theta, t = node.group.symbol("theta"), ca.SX.sym("t")
    columns = {name: column for name, (column, _) in node.inside(theta, ca.SX.zeros(node.group.dim)).items()}
    origin = np.zeros(node.group.dim)
    out: list[list[tuple[int, Array, Array, float]]] = []
    for e in elements:
        rows = rows_of(e, node, t, columns)
        found = []
        for i in range(rows.numel()):
            H, g = ca.hessian(rows[i], theta)
            if not ca.symvar(H) and not ca.depends_on(rows[i], t):
                values = ca.Function("f", [theta], [ca.densify(H), ca.densify(g), rows[i]])(origin)
                found.append((i, values[0].full(), values[1].full().ravel(), float(values[2])))
        out.append(found)
    return out


def repeated(elements: Sequence[Element], held: Sequence[list[int]], node: Parametrised) -> list[list[int]]:
    """Rows, of all elements on the node, that are sums of others for all its coordinates: quadratic ones, whose coefficients tell.

    Bodies that share a vector say twice that it has the length one. Of such rows those stay that keep coordinates what they stand for.
    """
    out: list[list[int]] = [[] for _ in elements]
    found: list[Array] = []
    rows = polynomials(elements, node)
    for k in sorted(range(len(elements)), key=lambda k: not elements[k].intrinsic):
        for i, H, g, c in rows[k]:
            if i in held[k]:
                continue
            new = np.concatenate([H[np.triu_indices(len(H))], g, [c]])
            size = float(np.linalg.norm(new))
            for _ in range(2):  # twice is enough
                for y in found:
                    new = new - y * (y @ new)
            if np.linalg.norm(new) < HOLDS * size:
                out[k].append(i)
            else:
                found.append(new / np.linalg.norm(new))
    return out


def satisfied(e: Element, node: Parametrised) -> list[int]:
    """Rows of the constraint of an element that hold for all coordinates of the node, at any time."""
    theta, t = node.group.symbol("theta"), ca.SX.sym("t")
    still = ca.SX.zeros(node.group.dim)
    rows = rows_of(e, node, t, {name: column for name, (column, _) in node.inside(theta, still).items()})
    f = ca.Function("f", [theta, t], [rows])
    rng = np.random.default_rng(1)
    places = [node.q + DISTANCE * max(1.0, float(np.abs(node.q).max())) * rng.standard_normal(len(node.q)) for _ in range(SAMPLES)]
    values = np.array([f(place, rng.uniform()).full().ravel() for place in places])
    size = max(1.0, float(np.abs(node.q).max())) ** 2
    return [int(i) for i in np.flatnonzero(np.abs(values).max(axis=0, initial=0.0) < HOLDS * size)]
