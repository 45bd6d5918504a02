"""First guesses: a course of the motion over the times of the steps, and from it all variables of the discrete problem."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from kreisel.control.conditions import Joined, Target
from kreisel.control.discrete import Discrete
from kreisel.control.moment import Moment
from kreisel.control.outcome import Outcome
from kreisel.groups import S3, SO3, Group, R, convert
from kreisel.mechanics.carrier import Carrier, Redundant
from kreisel.mechanics.freedom import Attitude, Ball
from kreisel.mechanics.joints import Joint
from kreisel.mechanics.natural import NaturalNode
from kreisel.mechanics.node import Node, RigidNode
from kreisel.mechanics.system import System
from kreisel.mechanics.tree import Link, Tree, forest, start
from kreisel.rotations import EulerAngles
from kreisel.simulation.solution import Solution

Array = NDArray[np.float64]

#: Of a body: rotation (n, 3, 3), position, angular velocity in body axes and velocity in space axes, (n, 3) each.
Poses = tuple[Array, Array, Array, Array]


@dataclass
class Course:
    """A motion over given times: poses of bodies; coordinates and velocities of nodes that are no bodies, or are known as such; controls
    (steps,) by name."""

    poses: dict[str, Poses] = field(default_factory=dict)
    nodes: dict[str, tuple[Array, Array]] = field(default_factory=dict)
    controls: dict[str, Array] = field(default_factory=dict)

    @classmethod
    def of_solution(cls, solution: Solution, times: Array) -> Course:
        """Of a motion that is known, stretched to these times."""
        t = solution.t[0] + (times - times[0]) / (times[-1] - times[0]) * (solution.t[-1] - solution.t[0])
        state = solution(np.clip(t, solution.t[0], solution.t[-1]))
        system = solution.system
        course = cls()
        at_q = at_v = 0
        for node in system.nodes:
            n, d = node.group.n_params, node.size("v")
            course.nodes[node.name] = q, v = state.q[:, at_q : at_q + n], state.v[:, at_v : at_v + d]
            if isinstance(node, Carrier):
                course.nodes |= {b.name: node.evaluate(b.name, q, v) for b in node.bodies}
            at_q, at_v = at_q + n, at_v + d
        course.poses = _poses(system, state.q, state.v)
        for name, u in solution.controls.items():
            # Means over the steps, so that the impulses stay the same.
            impulse = np.concatenate([[0.0], np.cumsum(u[1:] * np.diff(solution.t))])
            course.controls[name] = np.diff(np.interp(t, solution.t, impulse)) / np.diff(t)
        return course

    @classmethod
    def of_result(cls, d: Discrete, outcome: Outcome, solution: Solution, times: Array) -> Course:
        """Of an earlier result: its motion, and coordinates in which it was stepped that its solution does not show."""
        course = cls.of_solution(solution, times)
        number = {int(p): i for i, p in enumerate(d.transcription.places)}
        z = np.vstack([outcome.y[:, : d.stages.sizes.z], outcome.end])
        for node, places in zip(d.system.nodes, d.transcription.layout.nodes, strict=True):
            if isinstance(node, Redundant) and isinstance(node.group, R):
                at = number[places["q"]] + np.arange(node.group.dim)
                s, old = np.linspace(0, 1, len(times)), np.linspace(0, 1, len(z))
                q = np.stack([np.interp(s, old, z[:, i]) for i in at], axis=1)
                course.nodes[node.name] = q, _rates_by_differences(node.group, q, times)
        return course

    @classmethod
    def of_joints(cls, system: System, times: Array, values: Callable[[Link, int, Array], Array]) -> Course:
        """By joint coordinates: ``values(link, number of the freedom, at the start)`` gives those over time, (n, numbers)."""
        bodies = [n for n in system.bodies if isinstance(n, RigidNode | NaturalNode)]
        frames = {n.name: n.frame(ca.SX(n.q), ca.SX(n.v)) for n in bodies}
        plane = any(isinstance(n, NaturalNode) and n.plane for n in bodies)
        joints = [e for e in system.elements if isinstance(e, Joint)]
        course = cls()
        for links in forest(list(frames), joints, plane, frames):
            tree = Tree(links, [n for link in links for n in bodies if n.name == link.body], *start(links, frames))
            q = np.repeat(tree.q[None], len(times), axis=0)
            for link in links:
                for k, (at, _) in enumerate(link.at):
                    q[:, at] = values(link, k, tree.q[at])
            v = _rates_by_differences(tree.group, q, times)
            v[0] = tree.v
            course.nodes[tree.name] = q, v
            Q, V = tree.group.symbol("q"), ca.SX.sym("v", tree.group.dim)
            found = tree.frames(Q, V)
            course.poses |= _evaluate(found, Q, V, q, v)
        return course

    @classmethod
    def of_nodes(cls, nodes: Sequence[Node], times: Array, values: Mapping[str, Array]) -> Course:
        """By coordinates of nodes, (n, numbers) each."""
        course = cls()
        for node in nodes:
            q = values.get(node.name, np.repeat(node.q[None], len(times), axis=0))
            course.nodes[node.name] = q, _rates_by_differences(node.group, q, times)
            if isinstance(node, Carrier):
                for body in node.bodies:
                    q_body = node.evaluate(body.name, q, np.zeros((len(q), node.size("v"))))[0]
                    course.nodes[body.name] = q_body, _rates_by_differences(body.group, q_body, times)
        return course

    def states(self, d: Discrete) -> Array:
        """The states z at all times: (N + 1, z). What the course does not tell stays as at the start."""
        tr = d.transcription
        number = {int(p): i for i, p in enumerate(tr.places)}
        z = np.repeat(d.stages.start[None], d.steps + 1, axis=0)
        for node, places in zip(d.system.nodes, tr.layout.nodes, strict=True):
            known = self._of(node, d.steps + 1)
            for name, value in zip(("q", "v"), known or (), strict=False):
                at = number[places[name]]
                z[:, at : at + value.shape[1]] = value
        z[0] = d.stages.start
        return z

    def _of(self, node: Node, n: int) -> tuple[Array, Array] | None:
        """Coordinates and velocities of a node."""
        if node.name in self.nodes:
            q, v = self.nodes[node.name]
            if q.shape[1] == node.group.n_params and v.shape[1] == node.size("v"):
                return q, v
        if isinstance(node, Tree) and all(b.name in self.poses for b in node.bodies):
            known = node.name in self.nodes and self.nodes[node.name][0].shape[1] == node.group.n_params
            q = self.nodes[node.name][0] if known else self._joint_coordinates(node)
            if isinstance(node, Redundant):
                return q, np.hstack([self._placed(b)[1] for b in node.bodies])
            return q, _rates(node, q, self)
        if isinstance(node, RigidNode | NaturalNode) and node.name in self.poses:
            return self._placed(node)
        if not self.poses and not self.nodes:
            return None
        if isinstance(node, Redundant) and {node.name, *node.carried} <= set(self.nodes):
            return self.nodes[node.name][0], np.hstack([self.nodes[name][1] for name in node.carried])
        raise ValueError(f"guess: it tells nothing of '{node.name}'")

    def _placed(self, node: Node) -> tuple[Array, Array]:
        found = [node.place(*(a[k] for a in self.poses[node.name])) for k in range(len(self.poses[node.name][0]))]
        return np.array([f[0] for f in found]), np.array([f[1] for f in found])

    def _joint_coordinates(self, tree: Tree) -> Array:
        n = len(next(iter(self.poses.values()))[0])
        q = np.zeros((n, tree.group.n_params))
        for k in range(n):
            frames = {b.name: _frame(*(a[k] for a in self.poses[b.name])) for b in tree.bodies}
            for link in tree.links:
                A, B = link.frames(frames)
                for f, (at, _) in zip(link.freedoms, link.at, strict=True):
                    q[k, at] = np.array(ca.evalf(ca.densify(f.value(A, B)))).ravel()
        for link in tree.links:
            for f, (at, _) in zip(link.freedoms, link.at, strict=True):
                if f.turns or (isinstance(f, Attitude) and isinstance(f.rotation, EulerAngles)):
                    q[:, at] = np.unwrap(q[:, at], axis=0)
                elif isinstance(f, Ball):
                    q[:, at] = _continuous(q[:, at])
        return q


def _rates(tree: Tree, q: Array, course: Course) -> Array:
    """The rates of joint coordinates, from the poses."""
    v = np.zeros((len(q), tree.group.dim))
    for k in range(len(q)):
        frames = {b.name: _frame(*(a[k] for a in course.poses[b.name])) for b in tree.bodies}
        for link in tree.links:
            A, B = link.frames(frames)
            for f, (_, at) in zip(link.freedoms, link.at, strict=True):
                v[k, at] = np.array(ca.evalf(ca.densify(f.rate(A, B)))).ravel()
    return v


def _rates_by_differences(group: Group, q: Array, times: Array) -> Array:
    """Velocities of a course (n, numbers) from rest to rest."""
    steps = np.array([group.difference(a, b) for a, b in pairwise(q)]) / np.diff(times)[:, None]
    return np.vstack([0 * steps[:1], (steps[1:] + steps[:-1]) / 2, 0 * steps[:1]])


def _frame(R: Array, x: Array, omega: Array, velocity: Array) -> Any:
    from kreisel.mechanics.frame import Frame

    nothing = ca.SX(0, 1)
    return Frame(nothing, nothing, ca.SX(R), ca.SX(x), ca.SX(omega), ca.SX(velocity))


def _poses(system: System, q: Array, v: Array) -> dict[str, Poses]:
    nodes, Q, V = [], [], []
    for node in system.nodes:
        Q.append(node.group.symbol("q"))
        V.append(ca.SX.sym("v", node.size("v")))
        nodes.append((Q[-1], V[-1]))
    moment = Moment(system, system, nodes, ca.SX(0), {}, ca.SX(0))
    frames = {b.name: moment.node(b.name) for b in system.bodies if isinstance(b, RigidNode | NaturalNode)}
    return _evaluate(frames, ca.vertcat(*Q), ca.vertcat(*V), q, v)


def _evaluate(frames: Mapping[str, Any], Q: ca.SX, V: ca.SX, q: Array, v: Array) -> dict[str, Poses]:
    out = {}
    for name, f in frames.items():
        values = ca.Function("pose", [Q, V], [ca.densify(y) for y in (ca.vec(f.R.T), f.x, f.omega, f.velocity)]).map(len(q))(q.T, v.T)
        R, x, omega, velocity = (np.array(y).T for y in values)
        out[name] = R.reshape(-1, 3, 3), x, omega, velocity
    return out


def linear(d: Discrete, target: Target, times: Array) -> Course:
    """Straight on in joint coordinates, free bodies along geodesics: from the start to the target, with the time law of a point mass that
    is moved from rest to rest with the least effort."""
    s = (times - times[0]) / (times[-1] - times[0])
    s = s**2 * (3 - 2 * s)
    goal = {(key, "") if isinstance(key, str) else key: value for key, value in target.coordinates.items()}
    wanted = _target_poses(d, target)

    def values(link: Link, k: int, start: Array) -> Array:
        f = link.freedoms[k]
        if link.joint is not None:
            names = [name for name, freedom in link.joint.freedoms.items() if freedom == f]
            for name in [*names, ""]:
                if (link.joint.name, name) in goal:
                    end = goal[link.joint.name, name]
                    return np.asarray(start + s[:, None] * (end - start))
        elif link.body in wanted:
            x, A = wanted[link.body]
            if isinstance(f, Ball) and A is not None:
                way = S3.difference(start, convert(A.ravel(), SO3, S3))
                return np.array([S3.retract(start, a * way) for a in s])
            if not isinstance(f, Ball) and x is not None and len(start) == 3:
                return np.asarray(start + s[:, None] * (x - start))
        return np.repeat(start[None], len(s), axis=0)

    return Course.of_joints(d.shown, times, values)


def _target_poses(d: Discrete, target: Target) -> dict[str, tuple[Array | None, Array | None]]:
    out: dict[str, tuple[Array | None, Array | None]] = {}
    for body, (x, A) in target.frames.items():
        out[body] = (None if x is None else np.asarray(x, dtype=float), None if A is None else np.asarray(A, dtype=float))
    if target.q is not None:
        q = np.asarray(target.q, dtype=float)[None]
        v = np.zeros((1, sum(n.size("v") for n in d.shown.nodes)))
        out |= {body: (x[0], R[0]) for body, (R, x, _, _) in _poses(d.shown, q, v).items()}
    return out


def given(d: Discrete, times: Array, values: Mapping[Joined, Any]) -> Course:
    """Joint coordinates, poses of free bodies ``{name: (positions or None, rotation matrices or None)}``, coordinates of nodes that are no
    bodies ``{name: (n, numbers)}`` and controls, as the user gives them: arrays over the times (of controls: over the steps), or functions
    of s in [0, 1]. Others stay as at the start."""
    s = (times - times[0]) / (times[-1] - times[0])
    joints = {e.name for e in d.shown.elements if isinstance(e, Joint)}
    bodies, controls = {n.name for n in d.shown.bodies}, d.transcription.controls

    def numbers(key: Any, value: Any, shape: tuple[int, ...], at: Array) -> Array:
        y = np.array([np.asarray(value(a), dtype=float) for a in at]) if callable(value) else np.asarray(value, dtype=float)
        if y.shape != (len(at), *shape) or not np.all(np.isfinite(y)):
            raise ValueError(f"guess: '{key}' needs {(len(at), *shape)} finite numbers, or a function of s in [0, 1]; got {y.shape}")
        return y

    others = {n.name: n for n in d.system.nodes if not isinstance(n, Tree | RigidNode | NaturalNode)}
    known: dict[Any, Any] = {}
    inputs: dict[str, Array] = {}
    coordinates: dict[str, Array] = {}
    for key, value in values.items():
        joint = key if isinstance(key, str) else key[0]
        if joint in controls:
            inputs[joint] = numbers(key, value, (), (s[1:] + s[:-1]) / 2)
        elif joint in joints:
            known[(key, "") if isinstance(key, str) else key] = numbers(key, value, (), s)[:, None]
        elif joint in others:
            coordinates[joint] = numbers(key, value, (others[joint].group.n_params,), s)
        elif joint in bodies:
            x, A = value
            known[joint] = (None if x is None else numbers(key, x, (3,), s), None if A is None else numbers(key, A, (3, 3), s))
        else:
            there = sorted({*joints, *bodies, *others, *controls})
            raise ValueError(f"guess: there is no joint, body, coordinate or control '{joint}'; there are {there}")

    def of_link(link: Link, k: int, start: Array) -> Array:
        f = link.freedoms[k]
        if link.joint is not None:
            names = [name for name, freedom in link.joint.freedoms.items() if freedom == f]
            for name in [*names, ""]:
                if (link.joint.name, name) in known:
                    return np.asarray(known[link.joint.name, name])
        elif link.body in known:
            x, A = known[link.body]
            if isinstance(f, Ball) and A is not None:
                return _continuous(np.array([convert(a.ravel(), SO3, S3) for a in A]))
            if not isinstance(f, Ball) and x is not None and len(start) == 3:
                return np.asarray(x)
        return np.repeat(start[None], len(s), axis=0)

    course = Course.of_joints(d.shown, times, of_link) if known else Course()
    if coordinates:
        course.nodes |= Course.of_nodes(list(others.values()), times, coordinates).nodes
    course.controls = inputs
    return course


def _continuous(q: Array) -> Array:
    """Quaternions with the signs that follow each other most closely."""
    for k in range(1, len(q)):
        if q[k] @ q[k - 1] < 0:
            q[k] *= -1
    return q


def variables(d: Discrete, course: Course) -> tuple[Array, Array]:
    """All variables y (N, y) and z_N: states and controls by the course, unknowns of the steps such that they lead from one configuration
    to the next, as nearly as they can."""
    tr, stages, N = d.transcription, d.stages, d.steps
    s = stages.sizes
    z = course.states(d)
    y = np.zeros((N, s.y))
    y[:, : s.z] = z[:-1]
    for c, name in enumerate(tr.controls):
        if name in course.controls:
            y[:, s.z + s.x + c] = course.controls[name]
    i, j = stages.jacobian_pattern
    configuration = np.zeros(s.z, dtype=bool)
    number = {int(p): k for k, p in enumerate(tr.places)}
    for node, places in zip(d.system.nodes, tr.layout.nodes, strict=True):
        first = number[places["q"]]
        configuration[first : first + node.group.n_params] = True
    # Rows that tell the unknowns: those of new states, of the configurations that stages lead to on groups, and of relative motions.
    moves = [
        offset + at + np.arange(d.system.nodes[i].group.n_params)
        for offset, moved in zip(tr.offsets, tr.moved, strict=False)
        for i, at in moved.items()
    ]
    # No group element is zero: the search for these begins where the step does.
    starts = [z[:-1, number[tr.layout.nodes[i]["q"]] + np.arange(d.system.nodes[i].group.n_params)] for moved in tr.moved for i in moved]
    for at, q in zip(moves, starts, strict=True):
        y[:, s.z + at] = q
    relations = [(offset + at).ravel() for offset, stage in zip(tr.offsets, tr.related, strict=False) for at in stage.values()]
    rows = np.concatenate([np.zeros(0, dtype=int), *moves, *relations, s.x + np.arange(s.z)])
    weight = np.where(np.concatenate([np.ones(len(rows) - s.z, dtype=bool), configuration]), 1.0, 1e-3)
    place = np.full(s.rows, -1)
    place[rows] = np.arange(len(rows))
    inside = (place[i] >= 0) & (j >= s.z) & (j < s.z + s.x)
    for _ in range(3):
        _, values, _ = stages.values(y, z[-1])
        gap = -values[:, rows]
        gap[:, len(rows) - s.z :] += z[1:]
        J = stages.derivatives(y, z[-1])[1]
        for k in range(N):
            D = np.zeros((len(rows), s.x))
            np.add.at(D, (place[i[inside]], j[inside] - s.z), J[k, inside])
            y[k, s.z : s.z + s.x] += np.linalg.lstsq(D * weight[:, None], gap[k] * weight, rcond=1e-10)[0]
    return y, z[-1]
