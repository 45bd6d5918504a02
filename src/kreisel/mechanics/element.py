"""Elements: what acts on bodies or ties them together, never how it is integrated."""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from types import SimpleNamespace
from typing import Any

import casadi as ca
import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


class Element:
    """Something that contributes to the equations of motion. To add one, derive from this class and

    1. call ``super().__init__(name, *bodies)`` with the bodies it acts on, in the order in which it wants their frames;
    2. give the numbers in the formulas as ``parameters``, a dictionary of arrays. Elements that differ only in their numbers share their
       machine code; what else distinguishes formulas belongs into ``signature``;
    3. write what it does, in symbols, with ``p`` the parameters by name, ``t`` the time and one frame per body. Every hook is optional:

       ``potential(p, t, *frames)``: the potential energy;
       ``power(p, t, frames, virtual)``: the power of its forces in a virtual motion: the forces depend on ``frames`` (place and true
       velocity), and
       act on the velocities of ``virtual`` (same place, any velocity);
       ``constraint(p, t, *frames)``: a column that shall be zero (holonomic; only places and time);
       ``pfaffian(p, t, *frames)``: a column, linear in the velocities, that shall be zero (nonholonomic);
       ``mass(p, q)``: the mass matrix of its one body, constant or dependent on the coordinates q;
    4. if it remembers something from step to step, give its first values as ``memory``, a dictionary like ``parameters`` (and in ``p``
    like those), and
       ``remember(p, t, *frames)``: the new values after an accepted step, ``{name: column}``.

       A potential may be written in two parts, ``measures(p, t, *frames)``, quadratic in points and axes, and ``stored(p, measures)``,
       the energy by these, or so a constraint with ``coupled(p, t, measures)``: energy-momentum schemes then keep what the measures are
       indifferent to;
    5. if it depends on nothing but how some of its bodies move relative to each other, list those as ``pairs`` of places in ``bodies``:
       every hook then gets one :class:`Relative` per pair instead of one frame per body. Derivatives become half as long. What is
       compared need not be the bodies' own frames: a parameter ``offset0``, ``offset1``, ... (with the number of the place in ``bodies``)
       is a frame fixed to the body, by its coordinates on the group of the bodies. The ground needs one.

    Derivatives, generalised forces and constraint matrices follow.
    """

    #: Whether it is an external load, which statics increases step by step.
    external = False
    #: Whether its constraints keep coordinates what they stand for, as unit vectors, rather than tie bodies together.
    intrinsic = False
    pairs: tuple[tuple[int, int], ...] = ()

    #: The name of the input ``u`` among its parameters, of an actuator; or the function of time that stands in for it.
    control: str | None = None
    history: Callable[[ca.SX], ca.SX] | None = None

    #: Whether the power is a loss of energy (counted as dissipated) rather than work.
    dissipative = False

    def __init__(self, name: str, *bodies: str) -> None:
        self.name = name
        self.bodies = bodies
        self.parameters: dict[str, Array] = {}
        self.memory: dict[str, Array] = {}
        if len(set(bodies)) < len(bodies) and not self.pairs:
            raise ValueError(f"'{name}' connects '{bodies[0]}' with itself")

    def settle(self, mechanism: Any) -> None:
        """Takes what it needs to know of the mechanism (where bodies are at the start, other joints), before that becomes a system."""

    def signature(self) -> Any:
        return type(self), tuple((k, np.shape(v)) for k, v in (self.parameters | self.memory).items())

    def without(self, dropped: list[tuple[int, str]]) -> Element:
        """The element without some rows, (number, "constraint" or "pfaffian")."""
        if not dropped:
            return self
        new, signature = copy(self), self.signature()
        for kind in ("constraint", "pfaffian"):
            rows, formula = {i for i, which in dropped if which == kind}, getattr(self, kind)
            if rows:
                setattr(new, kind, lambda p, t, *seen, formula=formula, rows=rows: _others(ca.SX(formula(p, t, *seen)), rows))
        new.signature = lambda: (signature, tuple(dropped))  # type: ignore[method-assign]
        return new

    def __repr__(self) -> str:
        return f"{type(self).__name__} '{self.name}'"

    potential: Callable[..., ca.SX] | None = None
    power: Callable[[SimpleNamespace, ca.SX, list[Any], list[Any]], ca.SX] | None = None
    #: What the potential or the constraint depends on, quadratic in points and axes, (p, t, *frames) -> column; the energy by these,
    #: (p, column), or the constraint, (p, t, column).
    measures: Callable[..., ca.SX] | None = None
    stored: Callable[..., ca.SX] | None = None
    coupled: Callable[..., ca.SX] | None = None
    constraint: Callable[..., ca.SX] | None = None
    pfaffian: Callable[..., ca.SX] | None = None
    mass: Callable[..., ca.SX] | None = None
    remember: Callable[..., dict[str, ca.SX]] | None = None
    #: (n_params, dim) -> address of machine code for a force that is no formula; see BlackBox.
    routine: Callable[[int, int], int] | None = None


def _others(column: ca.SX, rows: set[int]) -> ca.SX:
    keep = [i for i in range(column.numel()) if i not in rows]
    return column[keep] if keep else ca.SX(0, 1)


class Inertia(Element):
    """The constant mass matrix of a body."""

    def __init__(self, name: str, body: str, matrix: Array) -> None:
        super().__init__(name, body)
        self.pattern = np.nonzero(np.triu(matrix))
        self.n = len(matrix)
        self.parameters = {"entries": matrix[self.pattern]}

    def signature(self) -> Any:
        return super().signature(), tuple(map(tuple, self.pattern)), self.n

    def mass(self, p: SimpleNamespace, q: ca.SX) -> ca.SX:
        M = ca.SX(self.n, self.n)
        for k, (i, j) in enumerate(zip(*self.pattern, strict=True)):
            M[int(i), int(j)] = M[int(j), int(i)] = p.entries[k]
        return M
