"""Energies, momenta, constraints and powers along a solution."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from kreisel.methods.base import Stage
from kreisel.simulation.packs import Layout, PackView, Unknowns, packs_of
from kreisel.simulation.program import Looks
from kreisel.symbolic import ArrayFunction

Array = NDArray[np.float64]


class Nothing(Stage):
    """A stage without equations: only the symbols are wanted."""

    unknowns = ()

    def residual(self, e: Any) -> dict[str, Any]:
        return {}


class Monitors:
    """Functions of the recorded states, summed over all elements; compiled when first asked for."""

    def __init__(self, layout: Layout) -> None:
        self.layout = layout
        self._made: dict[str, list[tuple[ArrayFunction | None, NDArray[np.int64], int]]] = {}

    @cached_property
    def _views(self) -> list[PackView]:
        system = self.layout.system
        stage = Nothing()
        return [PackView(self.layout, stage, Unknowns(system, stage), pack) for pack in packs_of(system, system.dim)]

    def total(self, name: str, S: Array) -> Array:
        """The sum over all elements of a quantity: shape (times, size)."""
        parts = [self._evaluate(f, sources, size, S).sum(axis=1) for f, sources, size in self._functions(name)]
        return np.asarray(sum(parts[1:], start=parts[0]))

    def looks(self, names: tuple[str, ...], every: int) -> Looks:
        """Quantities of one number, for many runs at once: the functions behind :meth:`total`, those of one name after the other."""
        table, sources, at = [], [np.zeros(0, dtype=np.int64)], 0
        for f, taken, _ in (part for name in names for part in self._functions(name)):
            assert f is not None
            table.append([f.address, taken.shape[1], len(taken), at])
            sources.append(taken.ravel())
            at += taken.size
        return Looks(every, np.array(table, dtype=np.int64), np.concatenate(sources))

    def totals(self, names: tuple[str, ...], values: list[Array]) -> list[Array]:
        """What :meth:`total` gives, (rows,), from the values of such looks."""
        each = iter(values)
        return [np.asarray(sum(p[1:], start=p[0])) for p in ([next(each).sum(axis=1) for _ in self._functions(name)] for name in names)]

    def rows(self, name: str, S: Array) -> Array:
        """Rows of constraints in the order of the elements: shape (times, rows)."""
        part = "pfaffian_rows" if name == "pfaffian" else "rows"
        found: dict[int, Array] = {}
        for view, (f, sources, size) in zip(self._views, self._functions(name), strict=True):
            values = self._evaluate(f, sources, size, S)
            for c, member in enumerate(view.elements.members):
                for i, element in enumerate(view.instances[:, c]):
                    found[int(element)] = values[:, i, getattr(member, part)]
        return np.concatenate([np.zeros((len(S), 0)), *(found[k] for k in sorted(found))], axis=1)

    def _evaluate(self, f: ArrayFunction | None, sources: NDArray[np.int64], size: int, S: Array) -> Array:
        if f is None:
            return np.zeros((len(S), len(sources), size))
        return np.asarray(f(S[:, sources])).reshape(len(S), len(sources), size)

    def _functions(self, name: str) -> list[tuple[ArrayFunction | None, NDArray[np.int64], int]]:
        if name not in self._made:
            self._made[name] = [self._function(view, name) for view in self._views]
        return self._made[name]

    def _function(self, view: PackView, name: str) -> tuple[ArrayFunction | None, NDArray[np.int64], int]:
        (expression,) = view.elements.resolve([ca.densify(ca.SX(_QUANTITIES[name](view.elements)))])
        symbols, sources = view.inputs([expression], 0, np.zeros(0, dtype=np.int64))
        if not expression.numel():
            return None, sources, 0
        if not symbols:
            symbols, sources = [view.h], view.table[view.h.element_hash()][:, None]
        f = ca.Function("m", [ca.vertcat(*symbols)], [expression])
        return ArrayFunction(name, f, {"x": (len(symbols),)}, [(expression.numel(),)]), sources, expression.numel()


def _kinetic(e: Any) -> ca.SX:
    v = e.get("v")
    return sum((ca.dot(v_i, p) / 2 for v_i, p in zip(v, e.momentum(v), strict=True)), start=ca.SX(0))


def _power(e: Any, dissipative: bool, rates: list[ca.SX]) -> ca.SX:
    total = ca.SX(0)
    for m in e.members:
        if m.element.power is not None and m.element.dissipative == dissipative:
            total += m.element.power(m.parameters, e.t, e._frames(m, e.q, e.get("v")), e._frames(m, e.q, rates))
    return total


def _hamiltonian_rates(e: Any) -> list[ca.SX]:
    """q' = dH/dp, v being the momenta."""
    H = e.energy(e.t, e.q, e.get("v"))
    return [ca.gradient(H, p) for p in e.get("v")]


def _momenta(e: Any) -> ca.SX:
    v = e.get("v")
    total = ca.SX.zeros(6)
    for n, v_i, p in zip(e.nodes, v, e.momentum(v), strict=True):
        if not p.is_zero() and n.node.bodies == [n.node]:
            total += ca.vertcat(*n.node.momenta(n.q, v_i, p))
    for node, frame, mass in e.carried_masses(e.q, v):
        total += ca.vertcat(*node.momenta(frame.q, frame.v, ca.mtimes(mass(frame.q), frame.v)))
    return total


_QUANTITIES: dict[str, Callable[[Any], ca.SX]] = {
    "kinetic": _kinetic,
    "potential": lambda e: e.energy(e.t, e.q, e.get("v")),
    "work": lambda e: _power(e, False, e.get("v")),
    "loss": lambda e: _power(e, True, e.get("v")),
    "hamiltonian work": lambda e: _power(e, False, _hamiltonian_rates(e)),
    "hamiltonian work of a step": lambda e: _power(e, False, e.get("last_x")),
    "momenta": _momenta,
    "constraint": lambda e: e.constraint(e.t, e.q),
    "constraint_rate": lambda e: e.constraint_rate(e.t, e.q, e.get("v")),
    "pfaffian": lambda e: e.pfaffian(e.t, e.q, e.get("v")),
}
