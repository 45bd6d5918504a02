"""A system: nodes and elements, ready for any method."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from copy import copy
from types import SimpleNamespace
from typing import Any

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike, NDArray

from kreisel.groups import Group
from kreisel.mechanics.actuators import generalised_forces
from kreisel.mechanics.element import Element, Inertia
from kreisel.mechanics.node import Ground, Node, seen_by
from kreisel.mechanics.structure import Realised

Array = NDArray[np.float64]


class System:
    """Equations of motion on a Lie group, from symbolic functions.

    .. math:: \\dot q = q\\,\\tilde v, \\quad M \\dot v - \\hat v^T M v = f - \\mathrm{D}V^T - \\mathrm{D}\\Phi^T\\lambda - A^T\\mu, \\quad
              \\Phi(q, t) = 0, \\quad A(q, t)\\,v = 0

    ``mass``: the matrix M, or a function of q. ``force``: a function (t, q, v) with as many entries as v. ``potential``: a function of q.
    ``constraint``: a function (t, q). ``pfaffian``: a function (t, q, v), linear in v. Functions take and give CasADi SX columns.
    ``parameters``: numbers by name; every function then has one more argument, last, that holds them: ``lambda q, p: p.k * q[0] ** 2``.
    Systems that differ only in these numbers share their machine code. ``controls``: names of inputs u, generalised forces B u; a positive
    one drives forward. ``inputs``: the constant matrix B, (dim, number of controls); if not given, there is one input per velocity.

    >>> import casadi as ca, kreisel as kr
    >>> oscillator = System(kr.R(1), mass=[[2.0]], potential=lambda q: 8 * q[0] ** 2 / 2, q=[1.0])
    >>> oscillator.nodes[0].name
    'q'
    """

    def __init__(
        self,
        group: Group,
        mass: ArrayLike | Callable[..., ca.SX],
        force: Callable[..., ca.SX] | None = None,
        potential: Callable[..., ca.SX] | None = None,
        constraint: Callable[..., ca.SX] | None = None,
        pfaffian: Callable[..., ca.SX] | None = None,
        q: ArrayLike | None = None,
        v: ArrayLike | None = None,
        parameters: Mapping[str, ArrayLike] | None = None,
        controls: Sequence[str] = (),
        inputs: ArrayLike | None = None,
    ) -> None:
        node = Node("q", group, q, v)
        p = {name: np.atleast_1d(np.array(a, dtype=float)) for name, a in (parameters or {}).items()}
        elements: list[Element] = (
            [_Formulas("mass", p, mass=mass)] if callable(mass) else [Inertia("mass", "q", _mass_matrix(mass, group.dim))]
        )
        for name, formula in {"force": force, "potential": potential, "constraint": constraint, "pfaffian": pfaffian}.items():
            if formula is not None:
                elements.append(_Formulas(name, p, **{name: formula}))
        self._set([node], elements + generalised_forces(controls, inputs, group.dim))

    @classmethod
    def of(cls, nodes: Sequence[Node], elements: Sequence[Element], structures: Mapping[str, Realised] | None = None) -> System:
        """The system of the given nodes and elements. ``structures``: the beams and shells among them, by name."""
        system = cls.__new__(cls)
        system._set(list(nodes), list(elements))
        system.structures = dict(structures or {})
        return system

    structures: dict[str, Realised]

    def _set(self, nodes: list[Node], elements: list[Element]) -> None:
        self.nodes, self.elements, self.structures = nodes, elements, {}
        self.number = {name: i for i, node in enumerate(nodes) for name in (node.name, *(b.name for b in node.bodies))}
        names = [n.name for node in nodes for n in {node.name: node, **{b.name: b for b in node.bodies}}.values()]
        for name, count in Counter(names + [e.name for e in elements]).items():
            if count > 1:
                raise ValueError(f"two things are called '{name}'; give them different names")
        for e in elements:
            for body in e.bodies:
                if body not in self.number and body != Ground.name:
                    raise ValueError(f"'{e.name}' refers to '{body}', which does not exist; there are {sorted(self.number)}")
        self._counted: dict[Any, int] = {}  # rows of formulas that elements share
        #: Holonomic and nonholonomic constraints of each element.
        self.rows = [self._count(e, "constraint") for e in elements]
        self.pfaffian_rows = [self._count(e, "pfaffian") for e in elements]
        #: Numbers that describe a configuration, and velocities.
        self.n_params = sum(n.group.n_params for n in nodes)
        self.dim = sum(n.group.dim for n in nodes)

    @property
    def bodies(self) -> list[Node]:
        """The nodes, and in the place of those that carry bodies these."""
        return [body for node in self.nodes for body in node.bodies]

    def seat(self, body: str) -> Any:
        """What has the frame of a body: its node, or its place on the one that carries it."""
        return self.nodes[self.number[body]].seat(body)

    @property
    def constrained(self) -> bool:
        """Whether there are holonomic constraints."""
        return any(self.rows)

    @property
    def nonholonomic(self) -> bool:
        """Whether there are nonholonomic constraints."""
        return any(self.pfaffian_rows)

    @property
    def rheonomic(self) -> bool:
        """Whether constraints depend on time, as those of prescribed motions do: these do work."""
        return any(
            ca.depends_on(self._rows(e, hook, t := ca.SX.sym("t")), t)
            for hook, rows in (("constraint", self.rows), ("pfaffian", self.pfaffian_rows))
            for e, n in zip(self.elements, rows, strict=True)
            if n
        )

    @property
    def index(self) -> int:
        """The differentiation index of the equations of motion: 3 with holonomic constraints, 2 with only nonholonomic ones, 0 without."""
        return 3 if self.constrained else 2 if self.nonholonomic else 0

    @property
    def black_boxes(self) -> list[str]:
        """Names of the forces that are no formulas."""
        return [e.name for e in self.elements if e.routine is not None]

    @property
    def controls(self) -> list[str]:
        """Names of the inputs of actuators."""
        return list(dict.fromkeys(e.control for e in self.elements if e.control is not None))

    def driven(self, histories: Mapping[str, Callable[[ca.SX], ca.SX]]) -> System:
        """The system with functions of time for some of its inputs."""
        if not histories:
            return self
        elements = []
        for e in self.elements:
            if e.control is not None and e.control in histories:
                history, e = histories[e.control], copy(e)
                e.control, e.history = None, history
            elements.append(e)
        system = type(self).of(self.nodes, elements, self.structures)
        system.original = self.original
        return system

    def reduced(
        self, formula: Callable[[ca.SX], Mapping[str, ca.SX]], q: ArrayLike, v: ArrayLike | None = None, name: str = "theta"
    ) -> System:
        """The system in fewer coordinates theta: ``formula(theta)`` gives those of some or all of its nodes, ``{name: column}``.

        Constraints that then hold by themselves are left out. ``q``, ``v``: theta and its rate at the start. ``name``: of the new node.

        >>> import kreisel as kr
        >>> m = kr.Mechanism(gravity=(0, 0, -9.81))
        >>> bob = m.point("bob", 1.0, position=(1, 0, 0))
        >>> m.joint(kr.Distance("ground", "bob"))
        >>> m.system().reduced(lambda a: {"bob": ca.vertcat(ca.cos(a[0]), 0, -ca.sin(a[0]))}, q=[0.0]).degrees_of_freedom
        1
        """
        from kreisel.mechanics.parametrised import parametrise

        system = System.of(*parametrise(self.nodes, self.elements, formula, q, v, name), self.structures)
        system.original = self
        return system

    #: The system of which this one is a reduction.
    original: System | None = None

    @property
    def degrees_of_freedom(self) -> int:
        """Velocities that remain free, if no constraint is redundant."""
        return self.dim - sum(self.rows) - sum(self.pfaffian_rows)

    @property
    def prominent(self) -> list[Node]:
        """The nodes that a summary tells of: all, but of those of a beam or shell only the first and the last."""
        inner = {name for realised in self.structures.values() for name in realised.own[1:-1]}
        return [n for n in self.bodies if n.name not in inner]

    def _count(self, e: Element, hook: str) -> int:
        formula = getattr(e, hook)
        if formula is None:
            return 0
        nodes = [None if body == Ground.name else self.seat(body) for body in e.bodies]
        key = hook, e.signature(), tuple(n and n.signature() for n in nodes)
        if key not in self._counted:
            self._counted[key] = int(self._rows(e, hook, ca.SX.sym("t")).numel())
        return self._counted[key]

    def _rows(self, e: Element, hook: str, t: ca.SX) -> ca.SX:
        """The rows of an element, in symbols."""
        nodes = [None if body == Ground.name else self.seat(body) for body in e.bodies]
        q = [ca.SX(0, 1) if n is None else n.group.symbol("q") for n in nodes]
        v = [ca.SX(0, 1) if n is None else ca.SX.sym("v", n.size("v")) for n in nodes]
        p = SimpleNamespace(**{k: ca.SX.sym(k, np.size(a)) for k, a in (e.parameters | e.memory).items()})
        return ca.SX(getattr(e, hook)(p, t, *seen_by(e, p, nodes, q, v)))


class _Formulas(Element):
    """The functions of q and v that a user gave."""

    def __init__(self, name: str, parameters: dict[str, Array], **formula: Any) -> None:
        super().__init__(name, "q")
        self.parameters = parameters
        ((kind, f),) = formula.items()
        self.formula = f
        hooks: dict[str, Any] = {
            "mass": lambda p, q: self._value(p, q),
            "potential": lambda p, t, a: self._value(p, a.q),
            "force": lambda p, t, frames, virtual: ca.dot(self._value(p, t, frames[0].q, frames[0].v), virtual[0].v),
            "constraint": lambda p, t, a: self._value(p, t, a.q),
            "pfaffian": lambda p, t, a: self._value(p, t, a.q, a.v),
        }
        setattr(self, "power" if kind == "force" else kind, hooks[kind])

    def _value(self, p: SimpleNamespace, *arguments: ca.SX) -> ca.SX:
        return ca.SX(self.formula(*arguments, p) if self.parameters else self.formula(*arguments))

    def signature(self) -> Any:
        return super().signature(), id(self.formula)


def _mass_matrix(mass: ArrayLike, n: int) -> Array:
    M = np.array(mass, dtype=float)
    if M.shape != (n, n):
        raise ValueError(f"mass must have shape ({n}, {n}), got {M.shape}")
    if not np.allclose(M, M.T, rtol=1e-12, atol=0):
        raise ValueError("mass must be symmetric")
    if np.linalg.eigvalsh(M).min() <= 0:
        raise ValueError("mass must be positive definite")
    return M
