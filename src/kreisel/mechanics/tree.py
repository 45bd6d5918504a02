"""Minimal coordinates: bodies that joints tie into a tree, by the coordinates of the joints."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from types import SimpleNamespace

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from kreisel.groups import SO3, Group, R
from kreisel.mechanics.carrier import Carrier, Redundant
from kreisel.mechanics.element import Element
from kreisel.mechanics.frame import Frame
from kreisel.mechanics.freedom import Attitude, Ball, Freedom, Shift, Slide, Turn
from kreisel.mechanics.joints import Joint, Spherical
from kreisel.mechanics.natural import NaturalNode
from kreisel.mechanics.node import Ground, Node, RigidNode
from kreisel.mechanics.system import System
from kreisel.rotations import Parametrisation

Array = NDArray[np.float64]

#: How free bodies and ball joints in space turn, unless something else is asked for.
ANY_ROTATION: Freedom = Ball()
#: What is nearer to a singularity of its coordinates than this cannot start there: the mass matrix has no correct digit left.
SINGULAR = 1e-8
#: What a body may be away from where its joint puts it, at the start (positions and velocities, relative to the largest).
FITS = 1e-8


@dataclass(frozen=True)
class Link:
    """A body, what carries it (``"ground"``, or another body), and the joint between them (None: the body is free).

    ``freedoms``: of the joint, in the order in which they lead from its frame A to its frame B. ``at``: where their coordinates and
    rates are among those of the tree.
    """

    body: str
    parent: str
    joint: Joint | None
    freedoms: tuple[Freedom, ...]
    at: tuple[tuple[slice, slice], ...]

    @property
    def _numbers(self) -> SimpleNamespace:
        assert self.joint is not None
        numbers = {"axes_a": np.eye(3), "axes_b": np.eye(3), **self.joint.parameters}
        places = {k: np.reshape(numbers[k], (3, 3), "F") if "axes" in k else numbers[k] for k in ("at_a", "at_b", "axes_a", "axes_b")}
        # Zeros that are only almost zero would make the formulas longer.
        return SimpleNamespace(**{k: ca.sparsify(ca.DM(np.where(np.abs(a) < 1e-15, 0.0, a))) for k, a in places.items()})

    @property
    def _forward(self) -> bool:
        """Whether the joint names the parent first."""
        return self.joint is None or self.joint.bodies[0] == self.parent

    def frames(self, frames: Mapping[str, Frame]) -> tuple[Frame, Frame]:
        """A and B of the joint; of a free body, the ground's frame and its own."""
        if self.joint is None:
            return Ground().frame(), frames[self.body]
        p, (a, b) = self._numbers, (Ground().frame() if name == Ground.name else frames[name] for name in self.joint.bodies)
        return a.fixed(p.at_a, p.axes_a), b.fixed(p.at_b, p.axes_b)

    def frame(self, parent: Frame, q: ca.SX, v: ca.SX) -> Frame:
        """The frame of the body on its parent, from the coordinates and rates of the whole tree."""
        steps = [(f.moved, q[i], v[j]) for f, (i, j) in zip(self.freedoms, self.at, strict=True)]
        if self.joint is None:
            return reduce(lambda frame, step: step[0](frame, *step[1:]), steps, parent)
        p = self._numbers
        ends = ((p.at_a, p.axes_a), (p.at_b, p.axes_b))
        if not self._forward:  # from B to A: the steps undone, the last one first
            ends = ends[::-1]
            steps = [(f.undone, q[i], v[j]) for f, (i, j) in zip(self.freedoms[::-1], self.at[::-1], strict=True)]
        (at, axes), (at_body, axes_body) = ends
        frame = reduce(lambda frame, step: step[0](frame, *step[1:]), steps, parent.fixed(at, axes))
        return frame.fixed(-ca.mtimes(axes_body.T, at_body), axes_body.T)

    def virtual(self, frames: Mapping[str, Frame], motion: Mapping[str, tuple[ca.SX, ca.SX]], u: ca.SX) -> tuple[ca.SX, ca.SX]:
        """Angular velocity and velocity of the centre of mass, in space axes, in a virtual motion with rates u: from that of the parent.

        ``frames``: where the bodies are, perhaps with directors that are not quite orthonormal.
        """
        A, B = self.frames(frames)
        parts = [f.virtual(A, B, u[j]) for f, (_, j) in zip(self.freedoms, self.at, strict=True)]
        turn, slide = (sum((part[k] for part in parts), start=ca.SX.zeros(3)) for k in range(2))
        if self.joint is None:
            return turn, slide
        near, far = (A, B) if self._forward else (B, A)
        if self.parent == Ground.name:
            w, velocity = ca.SX.zeros(3), ca.SX.zeros(3)
        else:
            w, velocity = motion[self.parent]
            velocity = velocity + ca.cross(w, near.x - frames[self.parent].x)
        if self._forward:
            velocity = velocity + ca.cross(w, B.x - A.x) + slide
            w = w + turn
        else:
            w = w - turn
            velocity = velocity - ca.cross(w, B.x - A.x) - slide
        return w, velocity + ca.cross(w, frames[self.body].x - far.x)


class Tree(Carrier):
    """The bodies of an open tree by their joint coordinates, in the order in which they follow each other from the ground.

    Angles and strokes are those of ``sol.joint(...)``; a ball joint has a unit quaternion, a free body its position and a unit
    quaternion, so that no position is singular; its velocities are the velocity in space axes and the angular velocity in body axes. With
    a parametrisation of rotations (:class:`Attitude`), both have its three numbers instead, and velocities are their derivatives. In the
    plane a ball joint has an angle, a free body two displacements and an angle.
    """

    def __init__(self, links: Sequence[Link], carried: Sequence[Node], q: Array, v: Array) -> None:
        self.links = tuple(links)
        super().__init__(f"tree of {links[0].body}", group_of(links), carried, q, v)

    @property
    def attitudes(self) -> list[tuple[str, Parametrisation, slice]]:
        """Bodies whose rotation is given by numbers that may be singular: which ones, and where they are among the coordinates."""
        return [
            (link.body, f.rotation, i)
            for link in self.links
            for f, (i, _) in zip(link.freedoms, link.at, strict=True)
            if isinstance(f, Attitude)
        ]

    def frames(self, q: ca.SX, v: ca.SX) -> dict[str, Frame]:
        """The frames of all bodies, from the joint coordinates and their rates."""
        found = {Ground.name: Ground().frame()}
        for link in self.links:
            found[link.body] = link.frame(found[link.parent], q, v)
        del found[Ground.name]
        return found

    def inside(self, q: ca.SX, v: ca.SX) -> dict[str, tuple[ca.SX, ca.SX]]:
        return {body: self.carried[body].of_frame(frame) for body, frame in self.frames(q, v).items()}


class DirectorTree(Redundant, Tree):
    """The same with bodies in natural coordinates, and the velocities of these."""

    def mean_velocity(self, q: ca.SX, v: ca.SX, h: ca.SX) -> ca.SX:
        """The rates B(q) v of the joint coordinates. The midpoint rule for directors makes 2 atan(h w/2)/h of
        an angular velocity w."""
        frames = {body: self.seat(body).frame(q, v) for body in self.carried}
        found = []
        for link in self.links:
            A, B = link.frames(frames)
            for f, (i, _) in zip(link.freedoms, link.at, strict=True):
                w = f.spin(A, B)
                # Numbers of a rotation matrix would be those of the least angle, not those it was reached with.
                rate = f.rotation.rate(q[i], w, frame="body") if isinstance(f, Attitude) else f.rate(A, B)
                if w is not None:
                    y = h / 2 * (ca.norm_2(w) + 1e-12)
                    rate = rate * ca.atan(y) / y
                found.append(rate)
        return ca.vertcat(*found)

    def null_space(self, theta: ca.SX, middle: Mapping[str, ca.SX], u: ca.SX) -> dict[str, ca.SX]:
        r"""In the middle directors are not orthonormal. Still neither body nor joint notices: G P = 0 for the derivative G of all their
        constraints there, since :math:`\delta d_i = w\times d_i` and joints follow the rules of :meth:`Freedom.virtual` (Siebert, (4.9),
        (4.55), (4.69), corrected). Of a free body, u is velocity and angular velocity in space axes."""
        frames = {name: self.carried[name].frame(q, ca.SX.zeros(q.numel())) for name, q in middle.items()}
        motion: dict[str, tuple[ca.SX, ca.SX]] = {}
        found = {}
        for link in self.links:
            w, velocity = motion[link.body] = link.virtual(frames, motion, u)
            node = self.carried[link.body]
            assert isinstance(node, NaturalNode)
            directors = [ca.cross(w, frames[link.body].R[:, i])[: node.n] for i in range(node.n)]
            found[link.body] = ca.vertcat(velocity[: node.n], *directors)
        return found


class NaturalTree(DirectorTree):
    """The same by the natural coordinates themselves, with all their constraints: only virtual motions are those of the tree."""

    def __init__(self, tree: DirectorTree) -> None:
        self.links = tree.links
        q = np.concatenate([node.q for node in tree.bodies])
        Carrier.__init__(self, tree.name, R(len(q)), tree.bodies, q, tree.v)

    @property
    def freedoms(self) -> int:
        return int(group_of(self.links).dim)

    @property
    def attitudes(self) -> list[tuple[str, Parametrisation, slice]]:
        return []

    def inside(self, q: ca.SX, v: ca.SX) -> dict[str, tuple[ca.SX, ca.SX]]:
        ends = np.cumsum([0, *(node.group.dim for node in self.bodies)]).tolist()
        return dict(zip(self.carried, zip(ca.vertsplit(q, ends), ca.vertsplit(v, ends), strict=True), strict=True))

    def mean_velocity(self, q: ca.SX, v: ca.SX, h: ca.SX) -> ca.SX:
        return ca.vertcat(*(self.carried[name].mean_velocity(*own, h) for name, own in self.inside(q, v).items()))


def any_rotation(rotation: Parametrisation | None) -> Freedom:
    """How free bodies and ball joints in space turn: by quaternions, or by the three numbers of a parametrisation."""
    if rotation is None:
        return ANY_ROTATION
    if not isinstance(rotation, Parametrisation) or rotation.n_params != 3:
        raise ValueError(f"rotation must be three numbers, such as EulerAngles('zxz') or RotationVector, got {rotation!r}")
    return Attitude(rotation)


def group_of(links: Sequence[Link]) -> Group:
    """Where the coordinates of a tree live: R(n), unless there are quaternions."""
    groups = [f.group for link in links for f in link.freedoms]
    if not groups:
        raise ValueError(f"body '{links[0].body}' is held fast: it has no coordinate that could be minimal")
    if all(isinstance(g, R) for g in groups):
        return R(sum(g.dim for g in groups))
    return reduce(lambda a, b: a * b, groups)


def by_joints(system: System, plane: bool, free: Freedom = ANY_ROTATION) -> System:
    """A system of bodies on SO3 * R(3) in the coordinates of joints. ``free``: the rotation of free bodies and ball joints in space."""
    bodies = [n for n in system.nodes if isinstance(n, RigidNode) and n.group == SO3 * R(3)]
    trees, elements = in_trees(bodies, system.elements, plane, free)
    new = System.of([*trees, *(n for n in system.nodes if n not in bodies)], elements, system.structures)
    new.original = system
    return new


def in_trees(
    nodes: Sequence[Node], elements: Sequence[Element], plane: bool, free: Freedom = ANY_ROTATION
) -> tuple[list[Node], list[Element]]:
    """Bodies on trees in the place of bodies by themselves, and the elements with no more constraints of the joints in the trees.

    Bodies in natural coordinates stay in these, on a :class:`DirectorTree`. ``free``: the rotation of free bodies and ball joints in space.
    """
    frames = {n.name: n.frame(ca.SX(n.q), ca.SX(n.v)) for n in nodes}
    trees = forest(list(frames), [e for e in elements if isinstance(e, Joint)], plane, frames, free)
    carried = {n.name: n for n in nodes}
    new: list[Node] = []
    for links in trees:
        own, (q, v) = [carried[link.body] for link in links], start(links, frames)
        natural = isinstance(own[0], NaturalNode)
        new.append(DirectorTree(links, own, q, np.concatenate([n.v for n in own])) if natural else Tree(links, own, q, v))
    joints = {id(link.joint) for links in trees for link in links}
    return new, [e.without([(i, "constraint") for i in range(6)]) if id(e) in joints else e for e in elements]


def tree_joints(nodes: Sequence[Node], elements: Sequence[Element]) -> set[str]:
    """The names of the joints that make trees of the bodies."""
    frames = {n.name: n.frame(ca.SX(n.q), ca.SX(n.v)) for n in nodes}
    trees = forest(list(frames), [e for e in elements if isinstance(e, Joint)], False, frames)
    return {link.joint.name for links in trees for link in links if link.joint is not None}


def forest(
    bodies: Sequence[str], joints: Sequence[Joint], plane: bool, frames: Mapping[str, Frame], free: Freedom = ANY_ROTATION
) -> list[list[Link]]:
    """The trees that joints make of bodies, grown from the ground, joints in the order in which they were added.

    A joint that would close a loop is left over, as is one whose freedoms do not describe all it leaves (a rod). Bodies that nothing ties
    to the ground follow a free one: the first of them. ``frames``: where they are at the start.
    """
    usable = [j for j in joints if set(j.bodies) <= {Ground.name, *bodies} and _describes(j)]
    trees: dict[str, list[Link]] = {}
    root = {Ground.name: Ground.name}

    def grow(body: str, parent: str, joint: Joint | None) -> None:
        root[body] = body if parent == Ground.name else root[parent]
        freedoms = _freedoms(joint, plane, frames, free)
        tree = trees.setdefault(root[body], [])
        i, j = (sum(getattr(f.group, n) for link in tree for f in link.freedoms) for n in ("n_params", "dim"))
        at = []
        for f in freedoms:
            at.append((slice(i, i + f.group.n_params), slice(j, j + f.group.dim)))
            i, j = i + f.group.n_params, j + f.group.dim
        tree.append(Link(body, parent, joint, freedoms, tuple(at)))

    def spread(queue: list[str]) -> None:
        while queue:
            parent = queue.pop(0)
            for joint in usable:
                if parent in joint.bodies:
                    (body,) = (b for b in joint.bodies if b != parent)
                    if body not in root:
                        grow(body, parent, joint)
                        queue.append(body)

    spread([Ground.name])
    for body in bodies:
        if body not in root:
            grow(body, Ground.name, None)
            spread([body])
    return list(trees.values())


def start(links: Sequence[Link], frames: Mapping[str, Frame]) -> tuple[Array, Array]:
    """Coordinates and rates of a tree from the frames of its bodies, which must fit their joints."""
    q, v = [], []
    for link in links:
        A, B = link.frames(frames)
        for f in link.freedoms:
            q.append(_number(f.value(A, B)))
            if isinstance(f, Attitude) and not _number(f.rotation.regularity(ca.SX(q[-1])))[0] > SINGULAR:  # nor is nan
                raise ValueError(f"the rotation of '{link.body}' at the start is a singularity of {f.rotation}: {f.rotation.singular}")
            v.append(_number(f.rate(A, B)))
    coordinates, rates = np.concatenate([np.zeros(0), *q]), np.concatenate([np.zeros(0), *v])
    found = {Ground.name: Ground().frame()}
    for link in links:
        given, put = frames[link.body], link.frame(found[link.parent], ca.SX(coordinates), ca.SX(rates))
        found[link.body] = put
        for what, pairs in (
            ("place", ((given.R, put.R), (given.x, put.x))),
            ("velocity", ((given.omega, put.omega), (given.velocity, put.velocity))),
        ):
            gap, size = 0.0, 1.0
            for a, b in pairs:
                gap = max(gap, float(np.abs(_number(a - b)).max()))
                size = max(size, float(np.abs(_number(a)).max()))
            if gap > FITS * size:
                assert link.joint is not None
                raise ValueError(
                    f"{link.joint.kind} '{link.joint.name}': the {what} of '{link.body}' at the start does not fit it, by {gap:.3g}; "
                    "minimal coordinates describe only what the joints leave"
                )
    return coordinates, rates


def _number(x: ca.SX) -> Array:
    return np.array(ca.evalf(ca.densify(ca.SX(x)))).ravel("F")


def _freedoms(joint: Joint | None, plane: bool, frames: Mapping[str, Frame], free: Freedom = ANY_ROTATION) -> tuple[Freedom, ...]:
    """What a joint leaves, in the plane only what stays in it."""
    if joint is None:
        return (Slide(0), Slide(1), Turn()) if plane else (Shift(), free)
    if isinstance(joint, Spherical):
        return (Turn(),) if plane else (free,)
    found = tuple(joint.freedoms.values())
    if not plane:
        return found
    link = Link(joint.bodies[1], joint.bodies[0], joint, (), ())
    A, B = link.frames(frames)
    unit = ca.SX(1)
    kept = []
    for f in found:
        turn, slide = (_number(part) for part in f.virtual(A, B, unit))
        if np.abs([turn[0], turn[1], slide[2]]).max() < 1e-9:
            kept.append(f)
        elif np.abs([turn[2], slide[0], slide[1]]).max() > 1e-9:
            raise ValueError(f"{joint.kind} '{joint.name}' cannot hold in the plane")
    return tuple(kept)


def _describes(joint: Joint) -> bool:
    """Whether the freedoms of the joint are all it leaves: with the rows of its constraint they make six."""
    numbers = {"axes_a": np.eye(3).ravel(), "axes_b": np.eye(3).ravel(), "length": np.ones(1), **joint.parameters}
    p = SimpleNamespace(**{k: ca.SX(np.ravel(a)) for k, a in numbers.items()})
    # As the class has it: rows that hold by themselves in the plane may have been left out.
    rows = ca.SX(type(joint).constraint(joint, p, ca.SX.sym("t"), Ground().frame(), Ground().frame())).numel()
    return bool(rows + sum(f.group.dim for f in _freedoms(joint, False, {})) == 6)
