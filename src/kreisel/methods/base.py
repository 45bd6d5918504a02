"""What a method is, and what it sees of a system.

A method is a discrete equation per element. It says, in symbols, what some elements on some nodes contribute to the equations of one
step; the sum over all elements is the scheme. From that one definition come the compiled step with its exact Newton matrix, the
derivative of the step map, and the constraints of an optimal control problem.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import casadi as ca

from kreisel.mechanics.system import System
from kreisel.methods.elements import Elements, MultiplierView, NodeView


class Stage:
    """One set of equations within a step. To write one:

    1. name the unknowns: one column per node and per name, and per constraint and name; the rows of the residual go by the same names;
    2. ``start(n, h)`` and ``start_multipliers(m, h)``: the first guess, ``{name: column}`` (missing: zero);
    3. ``residual(e)``: what the elements contribute, ``{name: list of columns per node}`` and ``{name: column}`` for multipliers;
       ``node_residual(n, h)``: what a node contributes just once;
    4. ``update(n, h)`` and ``update_multipliers(m, h)``: the states (and ``q``) after the stage, ``{name: column}``;
    5. if it makes sense only for steps below a full turn, ``increment(n, h)``: d of q o exp(d). A run that turns further ends there.
    """

    unknowns: tuple[str, ...] = ("x",)
    lam_unknowns: tuple[str, ...] = ()
    mu_unknowns: tuple[str, ...] = ()

    def start(self, n: NodeView, h: ca.SX) -> dict[str, ca.SX]:
        return {}

    def start_multipliers(self, lam: MultiplierView, h: ca.SX) -> dict[str, ca.SX]:
        return {}

    def start_pfaffian(self, mu: MultiplierView, h: ca.SX) -> dict[str, ca.SX]:
        return {}

    def residual(self, e: Elements) -> dict[str, Any]:
        raise NotImplementedError

    def node_residual(self, n: NodeView, h: ca.SX) -> dict[str, ca.SX]:
        return {}

    def update(self, n: NodeView, h: ca.SX) -> dict[str, ca.SX]:
        return {}

    def update_multipliers(self, lam: MultiplierView, h: ca.SX) -> dict[str, ca.SX]:
        return {}

    def update_pfaffian(self, mu: MultiplierView, h: ca.SX) -> dict[str, ca.SX]:
        return {}

    def increment(self, n: NodeView, h: ca.SX) -> ca.SX | None:
        return None


@dataclass(frozen=True)
class Method:
    """A time integration scheme: a small value. To add one, derive a frozen dataclass and

    1. name the ``states`` that nodes carry from step to step besides q and v, and those of multipliers;
    2. give the ``stages`` of a step, and, if the first step is another one, the ``opening``;
    3. declare what it claims: ``order`` and the like. The tests hold it to that;
    4. declare what it demands (:meth:`refuse`);
    5. append it to ``ALL_METHODS`` in ``tests/support.py``.
    """

    #: Order of convergence in q and v, and in the multipliers that ``sol.lam`` gives.
    order = 2
    order_multipliers = 2
    #: Whether it is for Hamiltonian systems (and only for those).
    hamiltonian: ClassVar[bool] = False
    #: Whether a solver of others takes the steps (see SolveIvp).
    outside: ClassVar[bool] = False
    #: A step with -h undoes a step with h.
    symmetric: ClassVar[bool] = False
    #: Variable steps keep the order.
    variable_steps: ClassVar[bool] = True

    states: ClassVar[tuple[str, ...]] = ("v",)
    lam_states: ClassVar[tuple[str, ...]] = ()
    mu_states: ClassVar[tuple[str, ...]] = ()
    #: The states that ``sol.lam`` and ``sol.mu`` show.
    lam_shown: ClassVar[str] = "lam"
    mu_shown: ClassVar[str] = "mu"
    #: Whether accelerations and multipliers of the start are needed, and the states they go to: of nodes, of holonomic and nonholonomic
    #: multipliers.
    needs_acceleration: ClassVar[bool] = False
    acceleration_targets: ClassVar[tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]]] = ((), (), ())
    #: Steps beyond the end that the last output needs; and whether the multipliers of a time are found in the step after it.
    extra_steps: ClassVar[int] = 0
    #: The states of multipliers whose mean belongs to the middle of the step; if there are any, multipliers can be interpolated.
    lam_of_step: ClassVar[tuple[str, ...]] = ()
    #: Whether work and losses of a step are those in its middle, exactly; else they are found by the trapezoidal rule.
    midpoint_work: ClassVar[bool] = False
    late_multipliers: ClassVar[bool] = False

    @property
    def stages(self) -> tuple[Stage, ...]:
        raise NotImplementedError

    @property
    def opening(self) -> tuple[Stage, ...]:
        """The stages of the first step; empty if it is as all others."""
        return ()

    @property
    def covariant_inputs(self) -> bool:
        """Whether inputs act through directors that are not orthonormal, instead of through the reciprocal ones (see BEM)."""
        return False

    #: Whether it steps in other, fewer coordinates than those of the system (see :meth:`reduce`).
    reduces: ClassVar[bool] = False

    def refuse(self, system: System) -> str:
        """Why the method does not fit the system; empty if it does."""
        return ""

    def reduce(self, system: System) -> System:
        """The system in which it takes its steps: the same bodies, on nodes that carry them. Solutions show the original one."""
        return system

    def prepare(self, layout: Any, S: Any, h: float, accelerations: Any) -> Any:
        """Last touches to the states of the start."""
        return S

    def velocities(self, solution: Any) -> Any:
        """The velocities that a solution shows."""
        return solution._state("v")

    def substeps(self) -> tuple[float, ...]:
        """A step as a sequence of steps of the stages, in fractions of h."""
        return (1.0,)

    def __str__(self) -> str:
        return type(self).__name__
