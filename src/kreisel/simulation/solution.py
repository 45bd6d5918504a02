"""What a simulation gives."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from kreisel.groups import S3, SO3, R, convert, convert_velocity
from kreisel.mechanics.beam import Beam
from kreisel.mechanics.carrier import Carrier
from kreisel.mechanics.natural import NaturalNode
from kreisel.mechanics.node import Node, PivotNode, PointNode, RigidNode
from kreisel.mechanics.quaternions import QuaternionNode
from kreisel.mechanics.shell import Shell
from kreisel.mechanics.system import System
from kreisel.methods.base import Method
from kreisel.simulation.joints import JointMotion
from kreisel.simulation.monitors import Monitors
from kreisel.simulation.packs import COUNT, Layout, T
from kreisel.simulation.status import Statistics, Status
from kreisel.simulation.structures import BeamMotion, StructureMotion

Array = NDArray[np.float64]


@dataclass(frozen=True)
class State:
    """A moment of a motion: time, configuration and velocity of all nodes."""

    t: float
    q: Array
    v: Array


@dataclass(frozen=True)
class Event:
    """A crossing: which event, when, and the state there."""

    name: str
    t: float
    state: State


class Solution:
    """A motion. Arrays have time first.

    ``t``: times. ``q``, ``v``: coordinates and velocities of all nodes side by side, in the groups' own conventions. ``lam``, ``mu``:
    multipliers of holonomic and nonholonomic constraints, in the order of the elements.
    """

    def __init__(
        self,
        layout: Layout,
        records: Array,
        status: Status,
        message: str,
        stats: Statistics,
        events: list[Event] | None = None,
        every: int = 1,
        beyond: Array | None = None,
        inputs: Array | None = None,
        monitors: Monitors | None = None,
    ) -> None:
        self.system: System = layout.system
        self.method: Method = layout.method
        self.status, self.message, self.stats = status, message, stats
        self.events = events or []
        self._layout, self._records, self._every = layout, records, every
        self._beyond = records[:0] if beyond is None else beyond
        #: Values of the inputs of actuators in the steps that led to the recorded times.
        self._inputs = np.zeros((len(records), 0)) if inputs is None else inputs
        self._monitors = Monitors(layout) if monitors is None else monitors
        #: With redundant constraints: the solution without them, and what makes multipliers of all constraints of its own.
        self._independent: tuple[Solution, Callable[[Solution, Array, Array], tuple[Array, Array]]] | None = None

    def __repr__(self) -> str:
        return f"<Solution: {len(self.t)} times to t = {self.t[-1]:.6g}, {self.method}: {self.message}>"

    @property
    def success(self) -> bool:
        """Whether the run got where it should."""
        return self.status in (Status.REACHED_END, Status.EVENT)

    @property
    def t(self) -> Array:
        """Times."""
        return self._records[:, T]

    @cached_property
    def q(self) -> Array:
        """Configurations, (n, n_params)."""
        return self._state("q")

    @cached_property
    def v(self) -> Array:
        """Velocities, (n, dim)."""
        return np.asarray(self.method.velocities(self))

    @cached_property
    def lam(self) -> Array:
        """Multipliers of the holonomic constraints, as the method has them."""
        if self.method.reduces:
            from kreisel.simulation.reduction import multipliers

            return multipliers(self)
        lam = self._multipliers(self._layout.lam, self.system.rows, self.method.lam_shown)
        if self.method.late_multipliers:
            late = self._multipliers(self._layout.lam, self.system.rows, self.method.lam_shown, self._beyond)
            # The start has its own, from the equations of motion.
            lam = np.concatenate([lam[:1], lam[2:], late if len(late) else lam[-1:]])[: len(lam)]
        return lam

    @cached_property
    def mu(self) -> Array:
        """Multipliers of the nonholonomic constraints."""
        return self._multipliers(self._layout.mu, self.system.pfaffian_rows, self.method.mu_shown)

    def multipliers(self, kind: str = "raw") -> Array:
        """Multipliers of the holonomic constraints: ``"raw"`` as the method has them, ``"interpolated"`` or ``"separate"`` (RATTLie;
        Hante, 3.5), or ``"consistent"``: those that belong to q and v by the equations of motion."""
        from kreisel.simulation.multipliers import multipliers

        return multipliers(self, kind)[0]

    @cached_property
    def a(self) -> Array:
        """Accelerations, the derivatives of v, (n, dim): the method's own, or those that belong to q and v by the equations of motion."""
        if "a" in self.method.states:
            return self._state("a")
        return self._consistent[0]

    @cached_property
    def _consistent(self) -> tuple[Array, Array, Array]:
        """Accelerations and multipliers that belong to q and v of each time by the equations of motion."""
        from kreisel.simulation.multipliers import consistent

        return consistent(self)

    @cached_property
    def _apart(self) -> Solution:
        """Of a system in joint or shared coordinates: the same motion with each body in its own, so that all joints are constraints."""
        from kreisel.simulation.reduction import restored

        if self.system.original is None:
            return self
        apart = restored(self, self.system.original, Method(), self._seen[:, : self._layout.n_state])
        if self.stats.redundant or apart.system.degrees_of_freedom < self.system.degrees_of_freedom:
            from kreisel.simulation.redundancy import reduce

            reduced = reduce(apart.system, apart.q[0])
            if reduced is not None:
                layout = Layout(reduced.system, apart.method)
                inner = Solution(layout, apart._records, self.status, self.message, self.stats, None, self._every, None, self._inputs)
                apart._independent = inner, reduced.all_multipliers
        return apart

    # Bodies

    def _node(self, name: str) -> Node:
        if name not in self.system.number:
            raise KeyError(f"there is no body '{name}'; there are {sorted(self.system.number)}")
        node = self.system.nodes[self.system.number[name]]
        return node.carried[name] if isinstance(node, Carrier) and name != node.name else node

    def configuration(self, name: str) -> Array:
        """The coordinates of a body in its own group, (n, n_params); of one that is carried by a tree, in SO3 * R(3)."""
        self._node(name)  # refuses unknown names
        i = self.system.number[name]
        node, at = self.system.nodes[i], self._layout.nodes[i]["q"]
        q = self._records[:, at : at + node.group.n_params]
        return node.evaluate(name, q, self._rates(i, self.v))[0] if isinstance(node, Carrier) and name != node.name else q

    def rotation(self, name: str) -> Array:
        """Rotation matrices of a body, (n, 3, 3)."""
        node, q = self._node(name), self.configuration(name)
        if isinstance(node, PivotNode):
            return np.asarray(SO3.matrix(convert(q, node.group, SO3)))
        if isinstance(node, RigidNode):
            return np.asarray(convert(q, node.group, SO3 * R(3))[:, :9].reshape(-1, 3, 3))
        if isinstance(node, NaturalNode | QuaternionNode):
            return node.pose(q)[0]
        raise TypeError(f"'{name}' has no rotation")

    def rotation_vector(self, name: str) -> Array:
        """Rotation vectors of a body, of angle at most pi, (n, 3)."""
        return np.asarray(SO3.log(self.rotation(name).reshape(-1, 9)))

    def position(self, name: str) -> Array:
        """Positions of the centre of mass of a body, or of a point, (n, 3)."""
        node, q = self._node(name), self.configuration(name)
        if isinstance(node, RigidNode):
            return np.asarray(convert(q, node.group, SO3 * R(3))[:, 9:])
        if isinstance(node, PivotNode):
            return np.asarray(node.pivot + self.rotation(name) @ node.arm)
        if isinstance(node, NaturalNode | QuaternionNode):
            return node.pose(q)[1]
        if isinstance(node, PointNode):
            return node.position(q)
        raise TypeError(f"'{name}' has no position")

    def velocity(self, name: str, frame: str = "own") -> Array:
        """Velocities of a body: ``"own"``, as the group has them; ``"body"`` or ``"space"``: angular and linear velocity in these axes,
        (n, 6)."""
        node, v = self._node(name), self._part(name, self.v)
        if frame == "own":
            return v
        if frame not in ("body", "space"):
            raise ValueError(f"frame must be 'own', 'body' or 'space', got {frame!r}")
        A = self.rotation(name)
        if isinstance(node, NaturalNode | QuaternionNode):
            direct = node.twist(self.configuration(name), v)
            direct[:, :3] = np.einsum("nji,nj->ni", A, direct[:, :3])
        elif isinstance(node, PivotNode):
            direct = np.concatenate([v, np.einsum("nij,nj->ni", A, np.cross(v, node.arm))], axis=1)
        else:
            direct = convert_velocity(self.configuration(name), v, node.group, (SO3 if node.group.n_params > 8 else S3) * R(3))
        omega, x_dot = direct[:, :3], direct[:, 3:]
        if frame == "space":
            return np.concatenate([np.einsum("nij,nj->ni", A, omega), x_dot], axis=1)
        return np.concatenate([omega, np.einsum("nji,nj->ni", A, x_dot)], axis=1)

    def acceleration(self, name: str) -> Array:
        """Accelerations of a body, the derivatives of its velocities as the group has them, (n, dim)."""
        return self._part(name, self.v, self.a)

    def _part(self, name: str, v: Array, a: Array | None = None) -> Array:
        """The columns of velocities (or accelerations, if given) that belong to a body."""
        self._node(name)
        i = self.system.number[name]
        node, v = self.system.nodes[i], self._rates(i, v)
        a = None if a is None else self._rates(i, a)
        if isinstance(node, Carrier) and name != node.name:
            return node.evaluate(name, self.configuration(node.name), v, a)[1]
        return v if a is None else a

    def _rates(self, i: int, rates: Array) -> Array:
        """The columns that belong to a node."""
        start = sum(n.group.dim for n in self.system.nodes[:i])
        return rates[:, start : start + self.system.nodes[i].group.dim]

    def beam(self, name: str) -> BeamMotion:
        """The motion of a beam: positions, frames, strains and section forces along it."""
        found = {k: r for k, r in self.system.structures.items() if isinstance(r.structure, Beam)}
        if name not in found:
            raise KeyError(f"there is no beam '{name}'; there are {sorted(found)}")
        return BeamMotion(self, found[name])

    def shell(self, name: str) -> StructureMotion:
        """The motion of a shell: positions and frames of its nodes."""
        found = {k: r for k, r in self.system.structures.items() if isinstance(r.structure, Shell)}
        if name not in found:
            raise KeyError(f"there is no shell '{name}'; there are {sorted(found)}")
        return StructureMotion(self, found[name])

    # Monitors

    @cached_property
    def _seen(self) -> Array:
        """The records with the velocities that are shown, and the parameters."""
        S = np.concatenate(
            [self._records, np.broadcast_to(self._layout.parameter_values, (len(self.t), len(self._layout.parameter_values)))], axis=1
        )
        at = 0
        for node, places in zip(self.system.nodes, self._layout.nodes, strict=True):
            S[:, places["v"] : places["v"] + node.group.dim] = self.v[:, at : at + node.group.dim]
            at += node.group.dim
        S[:, self._layout.inputs] = self._inputs
        return S

    @cached_property
    def controls(self) -> dict[str, Array]:
        """Inputs of actuators by name: those in force in the step that led to each time (at the start: in the first step)."""
        values = dict(zip(self._layout.controls, self._inputs.T, strict=True))
        return {name: values[name] for name in self.system.controls}

    def joint(self, name: str, multipliers: str = "raw") -> JointMotion:
        """The motion of a joint: its coordinates and rates, and the reactions, from the given kind of multipliers."""
        return JointMotion.of(self, name, multipliers)

    @cached_property
    def kinetic_energy(self) -> Array:
        """Kinetic energy."""
        return self._monitors.total("kinetic", self._seen)[:, 0]

    @cached_property
    def potential_energy(self) -> Array:
        """Potential energy."""
        return self._monitors.total("potential", self._seen)[:, 0]

    @property
    def energy(self) -> Array:
        """Kinetic plus potential energy."""
        return self.kinetic_energy + self.potential_energy

    @cached_property
    def work(self) -> Array:
        """Work that loads, actuators and prescribed motions have done since the start: as the method has it (BEM, REM and those for
        Hamiltonian systems, if every step is recorded), else by the trapezoidal rule over the recorded times."""
        if not self.method.hamiltonian:
            return self._integral("work") + self._prescribed_work
        return self._integral("hamiltonian work of a step" if self._exact_work else "hamiltonian work")

    @cached_property
    def dissipated(self) -> Array:
        """Energy lost to friction since the start; like :attr:`work`."""
        return -self._integral("loss")

    @property
    def balance(self) -> Array:
        """Energy plus what was dissipated minus the work of loads and prescribed motions: constant, up to the errors of the method and of
        the quadrature."""
        return self.energy + self.dissipated - self.work

    def _integral(self, name: str) -> Array:
        if self._exact_work:
            middle = (self._seen[:-1] + self._seen[1:]) / 2
            for places in self._layout.nodes:
                if "last_x" in places:  # the mean rate of the step that led to a time, not of two
                    at = slice(places["last_x"], places["last_x"] + self.system.dim)
                    middle[:, at] = self._seen[1:, at]
            middle[:, self._layout.inputs] = self._inputs[1:]
            return np.concatenate([[0.0], np.cumsum(np.diff(self.t) * self._monitors.total(name, middle)[:, 0])])
        before = self._seen[:-1].copy()
        before[:, self._layout.inputs] = self._inputs[1:]  # inputs are those of the step
        power = self._monitors.total(name, before)[:, 0] + self._monitors.total(name, self._seen[1:])[:, 0]
        return np.concatenate([[0.0], np.cumsum(np.diff(self.t) * power / 2)])

    @property
    def _prescribed_work(self) -> Array:
        r"""The work of constraints that depend on time, the integral of :math:`\lambda\cdot\partial_t\Phi + \mu\cdot a`, where A v + a = 0.

        In a step, :math:`-\lambda_{n+1/2}\cdot(\Phi(q_{n+1}, t_{n+1/2}) - \Phi(q_n, t_{n+1/2}))`: that of BEM exactly, since its discrete
        derivative makes just this difference.
        """
        done = np.zeros(len(self.t))
        if not self.system.rheonomic or len(done) < 2:
            return done
        h, names = np.diff(self.t), self.method.lam_of_step if self._every == 1 and len(self.method.substeps()) == 1 else ()
        middle = (self._seen[:-1] + self._seen[1:]) / 2
        if self.system.constrained:
            of_step = [self._multipliers(self._layout.lam, self.system.rows, name)[1:] for name in names]
            lam = np.mean(of_step, axis=0) if of_step else (self.lam[:-1] + self.lam[1:]) / 2
            ends = [self._seen[:-1].copy(), self._seen[1:].copy()]
            for S in ends:
                S[:, T] = middle[:, T]
            before, after = (self._monitors.rows("constraint", S) for S in ends)
            done[1:] -= np.cumsum(np.sum(lam * (after - before), axis=1))
        if self.system.nonholonomic:
            ends = [middle] if self._exact_work else [self._seen[:-1].copy(), self._seen[1:].copy()]
            for S in ends:
                for node, places in zip(self.system.nodes, self._layout.nodes, strict=True):
                    S[:, places["v"] : places["v"] + node.size("v")] = 0.0
            drift = np.mean([self._monitors.rows("pfaffian", S) for S in ends], axis=0)
            mu = self.mu[1:] if self._exact_work else (self.mu[:-1] + self.mu[1:]) / 2
            done[1:] += np.cumsum(h * np.sum(mu * drift, axis=1))
        return done

    @property
    def _exact_work(self) -> bool:
        """Whether the work of each step is known: of a method that has a rule for it, if every step is on record."""
        return self.method.midpoint_work and self._every == 1 and len(self.method.substeps()) == 1

    @cached_property
    def momentum(self) -> Array:
        """Total linear momentum, (n, 3), in space axes."""
        return self._monitors.total("momenta", self._seen)[:, :3]

    @cached_property
    def angular_momentum(self) -> Array:
        """Total angular momentum about the origin, (n, 3), in space axes."""
        return self._monitors.total("momenta", self._seen)[:, 3:]

    @cached_property
    def constraint_violation(self) -> Array:
        """Largest violation of the holonomic constraints, per time."""
        return np.asarray(np.max(np.abs(self._monitors.rows("constraint", self._seen)), axis=1, initial=0.0))

    @cached_property
    def velocity_violation(self) -> Array:
        """Largest violation of the constraints on velocities (hidden and nonholonomic ones), per time."""
        rates = [self._monitors.rows(name, self._seen) for name in ("constraint_rate", "pfaffian")]
        return np.asarray(np.max(np.abs(np.concatenate(rates, axis=1)), axis=1, initial=0.0))

    @property
    def newton_iterations(self) -> Array:
        """Newton iterations of the step that led to each recorded time, over all its stages."""
        return self._records[:, COUNT]

    # In between

    def __call__(self, t: ArrayLike) -> State:
        """The state at any time within the run: on the group, with constant velocity between the recorded times; velocities linear.

        Of second order in the distance of the recorded times. Shapes follow t.
        """
        t = np.asarray(t, dtype=float)
        if not np.all((t >= self.t[0]) & (t <= self.t[-1])):
            raise ValueError(f"t must lie within the run, [{self.t[0]}, {self.t[-1]}]")
        parts = [node.group.piecewise_interpolate(t, self.t, self.configuration(node.name)) for node in self.system.nodes]
        v = np.stack([np.interp(t, self.t, c) for c in self.v.T], axis=-1)
        return State(t if t.ndim else float(t), np.concatenate(parts, axis=-1), v)  # type: ignore[arg-type]

    # Derivatives, labelled arrays, files

    def step_matrix(self, k: int = -1, h: float | None = None) -> Array:
        """The derivative of the step that starts at the k-th recorded time: of the states after it by the states before it.

        Order: for each node w (where q is varied to q exp(w)) and the states of the method, ``sol.method.states``; then those of the
        multipliers (of those constraints that are left, if some are redundant). ``h``: default the step that led to the k-th time (at the
        start: that followed it).
        """
        from kreisel.simulation.linearise import StepDerivative

        if self._independent is not None:
            return self._independent[0].step_matrix(k, h)
        if h is None:
            last = self.method.substeps()[-1]
            h = float(self._records[k, 0]) / last if k % len(self.t) else float(self.t[1] - self.t[0]) / self._every
        return StepDerivative(self._layout)(self._records[k], h)[0]

    def to_xarray(self) -> Any:
        """The solution as an xarray Dataset."""
        from kreisel.simulation.storage import to_xarray

        return to_xarray(self)

    def save(self, path: Any) -> None:
        """Writes the solution to a NetCDF file; :func:`kreisel.load` reads it."""
        from kreisel.simulation.storage import save

        save(self, path)

    # Behind the scenes

    def _state(self, name: str, records: Array | None = None) -> Array:
        records = self._records if records is None else records
        parts = []
        for node, places in zip(self.system.nodes, self._layout.nodes, strict=True):
            size = node.group.n_params if name == "q" else node.group.dim
            parts.append(records[:, places[name] : places[name] + size])
        return np.concatenate(parts, axis=1)

    def _multipliers(self, places: list[dict[str, int]], rows: list[int], name: str, records: Array | None = None) -> Array:
        records = self._records if records is None else records
        parts = [records[:, p[name] : p[name] + k] for p, k in zip(places, rows, strict=True) if k]
        return np.concatenate([np.zeros((len(records), 0)), *parts], axis=1)

    def summary(self) -> dict[str, Any]:
        """The key figures by name."""
        return {
            "t_end": float(self.t[-1]),
            "energy_start": float(self.energy[0]),
            "energy_end": float(self.energy[-1]),
            "max_constraint": float(self.constraint_violation.max()),
            "newton_iterations_mean": self.stats.newton_iterations_mean,
            "status": self.status.name,
        }
