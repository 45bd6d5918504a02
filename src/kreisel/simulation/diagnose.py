"""Finding out, after the fact and without haste, which of the user's objects was to blame."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from kreisel.mechanics.blackbox import BlackBox
from kreisel.mechanics.element import Element
from kreisel.mechanics.node import Ground, Node, seen_by
from kreisel.mechanics.tree import Tree
from kreisel.simulation.packs import Layout, T

Array = NDArray[np.float64]

#: Regularities of numbers of rotations (1 at best, 0 at a singularity) below this are told of.
NEAR = 0.1


def expression_at(
    layout: Layout, bodies: tuple[str, ...], formula: Callable[..., Any], what: str
) -> tuple[list[ca.SX], ca.SX, NDArray[np.int64]]:
    """A user's function of time and frames: its symbols, the expression, and where in S the symbols are."""
    return _expression(layout, bodies, lambda t, nodes, q, v: formula(t, *seen_by(_OBSERVER, None, nodes, q, v)), what)


#: Sees frames, and does nothing.
_OBSERVER = Element("observer")


def seen_at(layout: Layout, e: Element, formula: Callable[..., Any]) -> tuple[list[ca.SX], ca.SX, NDArray[np.int64]]:
    """The same for a function (p, t, *frames) of an element, with its parameters and its memory."""
    p = {name: ca.SX(np.ravel(a)) for name, a in e.parameters.items()}
    where: dict[int, int] = {}
    for name, a in e.memory.items():
        p[name] = ca.SX.sym(name, np.size(a))
        at = layout.parameters[layout.system.elements.index(e)][name]
        where |= {s.element_hash(): at + c for c, s in enumerate(ca.vertsplit(p[name]))}
    space = SimpleNamespace(**p)
    return _expression(layout, e.bodies, lambda t, nodes, q, v: formula(space, t, *seen_by(e, space, nodes, q, v)), f"'{e.name}'", where)


def _expression(
    layout: Layout, bodies: tuple[str, ...], formula: Callable[..., Any], what: str, more: dict[int, int] | None = None
) -> tuple[list[ca.SX], ca.SX, NDArray[np.int64]]:
    """The same for a function of time, nodes, and their q and v. ``more``: where further symbols of the formula are."""
    t = ca.SX.sym("t")
    where = {t.element_hash(): 1, **(more or {})}
    nodes: list[Node | None] = []
    qs, vs = [], []
    for body in bodies:
        if body == Ground.name:
            nodes.append(None)
            qs.append(ca.SX(0, 1))
            vs.append(ca.SX(0, 1))
            continue
        if body not in layout.system.number:
            raise ValueError(f"{what} refers to '{body}', which does not exist; there are {sorted(layout.system.number)}")
        i = layout.system.number[body]
        node, places = layout.system.nodes[i], layout.nodes[i]
        q, v = node.group.symbol("q"), ca.SX.sym("v", node.size("v"))
        for name, symbol in (("q", q), ("v", v)):
            for c in range(symbol.numel()):
                where[symbol[c].element_hash()] = places[name] + c
        nodes.append(node.seat(body))
        qs.append(q)
        vs.append(v)
    expression = ca.densify(ca.SX(formula(t, nodes, qs, vs)))
    symbols = ca.symvar(expression)
    return symbols, expression, np.array([[where[s.element_hash()] for s in symbols]], dtype=np.int64)


def not_finite(layout: Layout, S: Array) -> list[str]:
    """The elements whose potential, force or constraint, or their derivatives, are not finite at the state S or after a step with its
    velocity."""
    names = []
    for e in layout.system.elements:
        if isinstance(e, BlackBox):
            names += _black_box(layout, e, S)
            continue
        p = SimpleNamespace(**{name: ca.SX(np.ravel(a)) for name, a in (e.parameters | e.memory).items()})
        for hook in ("potential", "power", "constraint", "pfaffian"):
            f = getattr(e, hook)
            if f is None:
                continue

            def formula(t: ca.SX, nodes: Any, q: Any, v: Any, e: Element = e, f: Any = f, hook: str = hook, p: Any = p) -> ca.SX:
                seen = seen_by(e, p, nodes, q, v)
                y = ca.SX(f(p, t, seen, seen) if hook == "power" else f(p, t, *seen))
                return ca.vertcat(y, ca.vec(ca.densify(ca.jacobian(y, ca.vertcat(t, *q, *v)))))

            symbols, expression, sources = _expression(layout, e.bodies, formula, f"'{e.name}'")
            g = ca.Function("g", [ca.vertcat(ca.SX(0, 1), *symbols)], [expression])
            for state in (S, _ahead(layout, S)):
                if not np.all(np.isfinite(g(state[sources[0]]).full())):
                    names.append(f"the {hook if hook != 'power' else 'force'} of '{e.name}'")
                    break
    return list(dict.fromkeys(names))


def near_singularities(layout: Layout, records: Array) -> str:
    """Words about rotations that came so near to a singularity of their coordinates that steps may have lost their accuracy, or failed."""
    found = ""
    for node, places in zip(layout.system.nodes, layout.nodes, strict=True):
        if isinstance(node, Tree):
            q = records[:, places["q"] : places["q"] + node.group.n_params]
            for body, rotation, part in node.attitudes:
                regularity = np.asarray(rotation.regularity(q[:, part]))
                k = int(np.argmin(np.abs(regularity)))
                if abs(regularity[k]) < NEAR:
                    found += (
                        f"; at t = {records[k, T]:.6g} '{body}' was near to a singularity of its coordinates"
                        f" ({abs(regularity[k]):.2g} of 1): {rotation.singular}"
                    )
    return found


def _black_box(layout: Layout, e: BlackBox, S: Array) -> list[str]:
    node, places = layout.system.nodes[layout.system.number[e.bodies[0]]], layout.nodes[layout.system.number[e.bodies[0]]]
    if e.error is not None:
        return [f"the function of '{e.name}' raised {type(e.error).__name__}: {e.error}"]
    for state in (S, _ahead(layout, S)):
        q, v = state[places["q"] : places["q"] + node.group.n_params], state[places["v"] : places["v"] + node.group.dim]
        if not np.all(np.isfinite(e.function(float(state[1]), q, v))):
            return [f"the function of '{e.name}'"]
    return []


def _ahead(layout: Layout, S: Array) -> Array:
    S = S.copy()
    h = S[0]
    S[1] += h
    for node, places in zip(layout.system.nodes, layout.nodes, strict=True):
        q, v = slice(places["q"], places["q"] + node.group.n_params), slice(places["v"], places["v"] + node.group.dim)
        if np.all(np.isfinite(S[v])):
            S[q] = node.group.retract(S[q], h * S[v])
    return S
