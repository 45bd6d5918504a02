"""What a method sees of a system: some elements on some nodes, in symbols, within one step."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from types import SimpleNamespace
from typing import Any

import casadi as ca

from kreisel.groups import Group
from kreisel.mechanics.element import Element
from kreisel.mechanics.frame import End, Frame, Relative
from kreisel.mechanics.node import Ground, Node

Columns = list[ca.SX]  # one per node


class NodeView:
    """A node within a step: its configuration ``q``, the states the method declares, and the unknowns of the stage, by name."""

    def __init__(self, node: Node, states: Sequence[str], unknowns: Sequence[str]) -> None:
        self.node, self.group = node, node.group
        self.q = node.group.symbol("q")
        for name in states:
            setattr(self, name, ca.SX.sym(name, node.size(name)))
        for name in unknowns:
            setattr(self, name, ca.SX.sym(name, node.group.dim))

    def __getattr__(self, name: str) -> ca.SX:
        raise AttributeError(f"the method declares neither a state nor an unknown '{name}' of nodes")

    def moved(self, d: ca.SX) -> ca.SX:
        """q o exp(d)."""
        return self.group.retract(self.q, d)


class MultiplierView:
    """The multipliers of constraints within a step: states and unknowns by name, as columns."""

    def __init__(self, rows: int, names: Sequence[str]) -> None:
        for name in names:
            setattr(self, name, ca.SX.sym(name, rows))

    def __getattr__(self, name: str) -> ca.SX:
        raise AttributeError(f"the method declares neither a state nor an unknown '{name}' of these multipliers")


@dataclass
class Moved:
    """A configuration of a node within or at the end of a step, z = q o exp(d), or just exp(d), as a symbol."""

    symbol: ca.SX
    expression: ca.SX
    increment: ca.SX
    #: T(d): the variation of z that belongs to one of d
    variation: ca.SX


@dataclass
class Reached:
    """A state of a node at the end of a step, as a symbol."""

    symbol: ca.SX
    expression: ca.SX


@dataclass
class Relation:
    """The relative motion d = log(q_a^-1 q_b) of two nodes (None: the ground), as a symbol, and its derivatives along both."""

    symbol: ca.SX
    expression: ca.SX
    places: tuple[int | None, int | None]
    q: tuple[ca.SX | None, ca.SX | None]
    derivatives: tuple[ca.SX, ca.SX]

    def ends(self, q: Columns) -> Iterator[tuple[int, ca.SX]]:
        """The nodes that have these configurations, each with the derivative of d along it."""
        for i, q_i, D in zip(self.places, self.q, self.derivatives, strict=True):
            if i is not None and _same(q_i, q[i]):
                yield i, D


@dataclass
class Probe:
    """Where a force that is no formula is wanted: its values are ``symbol``, to be found from t, q and v."""

    symbol: ca.SX
    member: Member
    arguments: ca.SX


@dataclass
class Member:
    """An element within a set of elements: its parameters, the places of its bodies, its rows of the multipliers."""

    element: Element
    places: list[int | None]  # None: the ground
    parameters: SimpleNamespace
    rows: slice
    pfaffian_rows: slice


@dataclass
class Elements:
    """Some elements on some nodes, as a method sees them. Lists have one column per node.

    Configurations are symbols: ``e.q`` (start of the step) or what :meth:`move` gives. Velocities may be any expressions.
    """

    nodes: list[NodeView]
    members: list[Member]
    h: ca.SX
    t: ca.SX
    lam: Any  # MultiplierView: holonomic
    mu: Any  # MultiplierView: nonholonomic
    #: Whether inputs act through the directors, not through the reciprocal ones (see BEM).
    covariant: bool = False
    ends: dict[int, Moved] = field(default_factory=dict)
    turns: list[tuple[NodeView, Moved]] = field(default_factory=list)
    reached: dict[int, Reached] = field(default_factory=dict)
    relations: dict[tuple[int, ...], Relation] = field(default_factory=dict)
    probes: list[Probe] = field(default_factory=list)

    @property
    def q(self) -> Columns:
        """Configurations, as the stage finds them."""
        return [n.q for n in self.nodes]

    def get(self, name: str) -> Columns:
        """A state or unknown of all nodes."""
        return [getattr(n, name) for n in self.nodes]

    def move(self, name: str, factor: ca.SX | float | None = None) -> Columns:
        """q o exp(h x), x the unknown of the given name; or with another factor than h."""
        h = self.h if factor is None else factor
        return self.retract([h * x for x in self.get(name)])

    def retract(self, d: Columns) -> Columns:
        """q o exp(d), d any expressions of states and unknowns. A stage has one such configuration of its nodes besides q."""
        for i, (n, d_i) in enumerate(zip(self.nodes, d, strict=True)):
            if i not in self.ends:
                self.ends[i] = Moved(n.group.symbol("z"), n.moved(d_i), d_i, n.group.T(d_i))
        return [self.ends[i].symbol for i in range(len(self.nodes))]

    def reach(self, i: int, v: ca.SX) -> ca.SX:
        """The velocity of a node at the end of the step, where it is a long expression of the unknowns."""
        self.reached[i] = Reached(ca.SX.sym("v", v.numel()), v)
        return self.reached[i].symbol

    # Named quantities: derivatives are multiplied up over them, instead of taken through exp and log

    def matrix(self, f: ca.SX, unknowns: ca.SX) -> ca.SX:
        """The derivative of f with respect to the unknowns, through all named quantities."""
        J = ca.jacobian(f, unknowns)
        for reached in self.reached.values():
            outer = ca.jacobian(f, reached.symbol)
            if outer.nnz():
                J += ca.mtimes(outer, self.matrix(reached.expression, unknowns))
        q = [self.ends[i].symbol if i in self.ends else n.q for i, n in enumerate(self.nodes)]
        for i, end in self.ends.items():
            outer = self._along(f, q, i)
            if outer.nnz():
                J += ca.mtimes(outer, ca.mtimes(end.variation, ca.jacobian(end.increment, unknowns)))
        for n, turn in self.turns:
            w = ca.SX.sym("w", n.group.dim)
            outer = ca.mtimes(ca.jacobian(f, turn.symbol), ca.jacobian(n.group.rate(turn.symbol, w), w))
            J += ca.mtimes(outer, ca.mtimes(turn.variation, ca.jacobian(turn.increment, unknowns)))
        return ca.sparsify(J)

    def resolve(self, expressions: list[ca.SX]) -> list[ca.SX]:
        """The expressions with all named quantities written out."""
        every = [*self.reached.values(), *self.relations.values(), *self.ends.values(), *(turn for _, turn in self.turns)]
        for named in every:
            assert isinstance(named, Reached | Relation | Moved)
            expressions = ca.substitute(expressions, [named.symbol], [named.expression])
        return expressions

    # What the elements are

    def momentum(self, v: Columns, q: Columns | None = None) -> Columns:
        """M v."""
        q, out = q or self.q, self._zeros()
        for i, M in self._masses(q):
            out[i] += ca.mtimes(M, v[i])
        u = [ca.SX.sym("u", n.group.dim) for n in self.nodes]
        T = sum((ca.dot(f.v, ca.mtimes(mass(f.q), f.v)) / 2 for _, f, mass in self.carried_masses(q, u)), start=ca.SX(0))
        if not T.is_zero():
            for i, p in enumerate(ca.substitute([ca.gradient(T, u_i) for u_i in u], u, v)):
                out[i] += p
        return out

    def inertia(self, q: Columns, v: Columns, a: Columns) -> Columns:
        """M a - ad(v)^T M v, and what a mass that depends on q adds: M' v - D(v . M v / 2).

        Of carried bodies, with velocities P v and accelerations P a + P' v: P^T times that.
        """
        out = self._zeros()
        for i, M in self._masses(q):
            out[i] += _inertia(self.nodes[i].group, M, q[i], v[i], a[i])
        u, w = ([ca.SX.sym(name, n.group.dim) for n in self.nodes] for name in ("u", "w"))
        power = ca.SX(0)
        carried = list(zip(self.carried_masses(q, w), self.carried_masses(q, u), strict=True))
        # All accelerations at once: bodies of a tree share most of their formulas.
        moving = ca.vertcat(ca.SX(0, 1), *(frame.v for (_, frame, _), _ in carried))
        rates = ca.SX.zeros(moving.numel())
        for n, q_i, w_i, a_i in zip(self.nodes, q, w, a, strict=True):
            rates += ca.jtimes(moving, q_i, n.group.rate(q_i, w_i)) + ca.jtimes(moving, w_i, a_i)
        at = 0
        for (node, frame, mass), (_, virtual, _) in carried:
            rate = rates[at : at + node.group.dim]
            at += node.group.dim
            symbols = [node.group.symbol("q"), ca.SX.sym("v", node.group.dim), ca.SX.sym("a", node.group.dim)]
            own = _inertia(node.group, mass(symbols[0]), *symbols)
            (own,) = ca.substitute([own], symbols, [ca.densify(y) for y in (frame.q, frame.v, rate)])
            power += ca.dot(virtual.v, own)
        if not power.is_zero():
            for i, p in enumerate(ca.substitute([ca.gradient(power, u_i) for u_i in u], w, v)):
                out[i] += p
        return out

    def force(self, t: ca.SX, q: Columns, v: Columns, loads: ca.SX | float = 1.0, potentials: bool = True) -> Columns:
        """The generalised forces: of potentials (or not), loads, friction. ``loads``: a factor of the external ones."""
        out = self._zeros()
        u = [ca.SX.sym("u", n.group.dim) for n in self.nodes]
        # Elements on the same nodes are differentiated together.
        energies: dict[tuple[int, ...], ca.SX] = {}
        powers: dict[tuple[int, ...], ca.SX] = {}
        for m in self.members:
            factor, places = loads if m.element.external else 1.0, tuple(self._places(m))
            if potentials and m.element.potential is not None:
                V = factor * ca.SX(m.element.potential(m.parameters, t, *self._frames(m, q, v)))
                energies[places] = energies.get(places, 0) + V
            if m.element.power is not None:
                P = factor * ca.SX(m.element.power(m.parameters, t, self._frames(m, q, v), self._frames(m, q, u)))
                powers[places] = powers.get(places, 0) + P
            if m.element.routine is not None:
                (i,) = self._places(m)
                (frame,) = self._frames(m, q, v)
                F = ca.SX.sym("F", frame.v.numel())
                self.probes.append(Probe(F, m, ca.vertcat(t, frame.q, frame.v)))
                (virtual,) = self._frames(m, q, u)
                out[i] += ca.gradient(ca.dot(F, virtual.v), u[i])
        for places, V in energies.items():
            for i in places:
                out[i] -= ca.densify(self._along(V, q, i)).T
        for places, P in powers.items():
            for i in places:
                out[i] += ca.gradient(P, u[i])
        return out

    def energy(self, t: ca.SX, q: Columns, v: Columns) -> ca.SX:
        """The sum of the potentials; of a Hamiltonian system all of the energy, v being the momenta."""
        total = ca.SX(0)
        for m in self.members:
            if m.element.potential is not None:
                total += m.element.potential(m.parameters, t, *self._frames(m, q, v))
        return total

    def constraint(self, t: ca.SX, q: Columns) -> ca.SX:
        """Phi."""
        return ca.vertcat(ca.SX(0, 1), *(phi for _, phi in self._constraints(t, q)))

    def constraint_rate(self, t: ca.SX, q: Columns, v: Columns) -> ca.SX:
        """B v + dPhi/dt, B = DPhi."""
        return self._rate(self.constraint(t, q), t, q, v)

    def constraint_acceleration(self, t: ca.SX, q: Columns, v: Columns, a: Columns) -> ca.SX:
        """B a + Z(v, v) + ..., the second derivative of Phi along a motion."""
        return self._second(self.constraint_rate, t, q, v, a)

    def constraint_force(self, t: ca.SX, q: Columns, lam: ca.SX) -> Columns:
        """B^T lam."""
        out = self._zeros()
        for m, phi in self._constraints(t, q):
            for i in self._places(m):
                out[i] += ca.densify(self._along(ca.dot(phi, lam[m.rows]), q, i)).T
        return out

    def pfaffian(self, t: ca.SX, q: Columns, v: Columns) -> ca.SX:
        """A v (+ a drift, if the user's constraint has one)."""
        return ca.vertcat(ca.SX(0, 1), *(rows for _, rows in self._pfaffians(t, q, v)))

    def pfaffian_rate(self, t: ca.SX, q: Columns, v: Columns, a: Columns) -> ca.SX:
        """A a and what else the derivative of A v along a motion has."""
        return self._second(self.pfaffian, t, q, v, a)

    def pfaffian_force(self, t: ca.SX, q: Columns, mu: ca.SX) -> Columns:
        """A^T mu."""
        out = self._zeros()
        u = [ca.SX.sym("u", n.group.dim) for n in self.nodes]
        for m, rows in self._pfaffians(t, q, u):
            for i in self._places(m):
                out[i] += ca.gradient(ca.dot(rows, mu[m.pfaffian_rows]), u[i])
        return out

    # Lie group operators on columns

    def cotangent(self, d: Columns, y: Columns) -> Columns:
        """T^-T(d) y. Nothing to do where y is zero."""
        return [y_i if y_i.is_zero() else n.group.cotangent_inverse(d_i, y_i) for n, d_i, y_i in zip(self.nodes, d, y, strict=True)]

    def transport(self, d: Columns, y: Columns) -> Columns:
        """Ad(exp(-d))^T y: a momentum or force y at q o exp(d), as it is seen from q. Nothing to do where y is zero."""
        out = []
        for n, d_i, y_i in zip(self.nodes, d, y, strict=True):
            if not y_i.is_zero():
                z = n.group.symbol("g")
                self.turns.append((n, Moved(z, n.group.exp(d_i), d_i, n.group.T(d_i))))
                y_i = ca.mtimes(n.group.Ad(n.group.inverse(z)).T, y_i)
            out.append(y_i)
        return out

    def _zeros(self) -> Columns:
        return [ca.SX.zeros(n.group.dim) for n in self.nodes]

    def _places(self, m: Member) -> Iterator[int]:
        return iter(dict.fromkeys(i for i in m.places if i is not None))

    def _frames(self, m: Member, q: Columns, v: Columns) -> list[Any]:
        """What the element sees: frames, or relative motions."""
        if m.element.pairs:
            return [self._relative(m, pair, q, v) for pair in m.element.pairs]
        frames = [
            Ground().frame() if i is None else self.nodes[i].node.seat(body).frame(q[i], v[i])
            for body, i in zip(m.element.bodies, m.places, strict=True)
        ]
        return [f.covariant() for f in frames] if self.covariant else frames

    def _relative(self, m: Member, pair: tuple[int, int], q: Columns, v: Columns) -> Relative:
        a, b = places = tuple(m.places[k] for k in pair)
        (group,) = {self.nodes[i].group for i in m.places if i is not None}
        first, second = (
            End(None if i is None else q[i], None if i is None else v[i], getattr(m.parameters, f"offset{k}", None))
            for k, i in zip(pair, places, strict=True)
        )
        ends = first, second
        # Elements on the same nodes share a relative motion.
        key = tuple(s[0].element_hash() for end in ends for s in (end.q, end.offset) if s is not None)
        if key not in self.relations:
            d = ca.SX.sym("d", group.dim)
            expression = group.difference(*(end.place(group) for end in ends))
            self.relations[key] = Relation(d, expression, (a, b), (ends[0].q, ends[1].q), Relative.derivatives(group, ends, d))
        return Relative.between(group, ends, self.relations[key].symbol)

    def _masses(self, q: Columns) -> Iterator[tuple[int, ca.SX]]:
        for m in self.members:
            if m.element.mass is not None and not self._carried(m):
                (i,) = self._places(m)
                yield i, m.element.mass(m.parameters, q[i])

    def _carried(self, m: Member) -> bool:
        """Whether the first body of the element is carried by a node together with others."""
        return m.places[0] is not None and self.nodes[m.places[0]].node.name != m.element.bodies[0]

    def carried_masses(self, q: Columns, v: Columns) -> Iterator[tuple[Node, Frame, Callable[[ca.SX], ca.SX]]]:
        """Of each carried body its node, its frame, and its mass matrix as a function of its own coordinates."""
        for m in self.members:
            if m.element.mass is not None and self._carried(m):
                assert m.places[0] is not None
                (frame,) = self._frames(m, q, v)
                yield self.nodes[m.places[0]].node.seat(m.element.bodies[0]).node, frame, partial(m.element.mass, m.parameters)

    def _constraints(self, t: ca.SX, q: Columns) -> Iterator[tuple[Member, ca.SX]]:
        for m in self.members:
            if m.element.constraint is not None and m.rows.stop > m.rows.start:
                still = [ca.SX.zeros(n.node.size("v")) for n in self.nodes]
                yield m, ca.SX(m.element.constraint(m.parameters, t, *self._frames(m, q, still)))

    def _pfaffians(self, t: ca.SX, q: Columns, v: Columns) -> Iterator[tuple[Member, ca.SX]]:
        for m in self.members:
            if m.element.pfaffian is not None and m.pfaffian_rows.stop > m.pfaffian_rows.start:
                yield m, ca.SX(m.element.pfaffian(m.parameters, t, *self._frames(m, q, v)))

    def _along(self, f: ca.SX, q: Columns, i: int) -> ca.SX:
        """D f: the derivative of f along q_i o exp(w) with respect to w, as rows."""
        w = ca.SX.sym("w", self.nodes[i].group.dim)
        out = ca.mtimes(ca.jacobian(f, q[i]), ca.jacobian(self.nodes[i].group.rate(q[i], w), w))
        for relation in self.relations.values():
            for k, D in relation.ends(q):
                if k == i:
                    out += ca.mtimes(ca.jacobian(f, relation.symbol), D)
        return out

    def _rate(self, f: ca.SX, t: ca.SX, q: Columns, v: Columns) -> ca.SX:
        out = ca.SX.zeros(f.shape[0])
        for n, q_i, v_i in zip(self.nodes, q, v, strict=True):
            out += ca.jtimes(f, q_i, n.group.rate(q_i, v_i))
        for relation in self.relations.values():
            for k, D in relation.ends(q):
                out += ca.jtimes(f, relation.symbol, ca.mtimes(D, v[k]))
        # Time enters as t, t + h or t + c h, or as a number.
        return out + (ca.jtimes(f, self.t, ca.SX(1)) if ca.depends_on(ca.SX(t), self.t) else 0)

    def _second(self, first: Any, t: ca.SX, q: Columns, v: Columns, a: Columns) -> ca.SX:
        u = [ca.SX.sym("u", n.group.dim) for n in self.nodes]
        f = first(t, q, u)
        if f.numel() == 0:
            return f
        out = self._rate(f, t, q, v)
        for u_i, a_i in zip(u, a, strict=True):
            out += ca.jtimes(f, u_i, a_i)
        return ca.substitute(out, ca.vertcat(*u), ca.vertcat(*v))


def _inertia(group: Group, M: ca.SX, q: ca.SX, v: ca.SX, a: ca.SX) -> ca.SX:
    """M a - ad(v)^T M v + M' v - D(v . M v / 2) on a group."""
    out = ca.mtimes(M, a) - ca.mtimes(group.ad(v).T, ca.mtimes(M, v))
    if ca.depends_on(M, q):
        u, w = ca.SX.sym("u", group.dim), ca.SX.sym("w", group.dim)
        p = ca.mtimes(M, u)
        rate = ca.mtimes(ca.jacobian(p, q), group.rate(q, u))
        along = ca.mtimes(ca.jacobian(ca.dot(u, p) / 2, q), ca.jacobian(group.rate(q, w), w))
        out += ca.substitute(rate - ca.densify(along).T, u, v)
    return out


def _same(a: ca.SX, b: ca.SX) -> bool:
    """Whether two columns are the same symbols."""
    return a.numel() == b.numel() and bool(a[0].element_hash() == b[0].element_hash())
