"""Scenes: a motion as one HTML file that moves in any browser, without network and without libraries.

The file holds the motion as numbers (see :func:`scene_data`) and the page ``scene.html``, which draws them with WebGL.
"""

from __future__ import annotations

import html
import json
import re
from collections.abc import Iterable
from dataclasses import dataclass
from importlib.resources import files
from math import ceil, floor, log10
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from kreisel.groups import S3, SO3, convert
from kreisel.mechanics.actuators import OnJoint
from kreisel.mechanics.element import Element, Inertia
from kreisel.mechanics.forces import Gravity
from kreisel.mechanics.natural import NaturalNode
from kreisel.mechanics.node import Ground, Node, PivotNode, PointNode, RigidNode
from kreisel.view.flexible import Flexible, frames_at_most

if TYPE_CHECKING:
    from kreisel.simulation import Solution

Array = NDArray[np.float64]

#: How far a body may turn from one frame to the next, in radians: the page cannot know of full turns in between.
TURN = 0.5
#: Frames of any scene at least, and frames that fast turning may demand at most.
FEW, MANY = 120, 20_000
#: Sides of a body are drawn with at least this fraction of the longest one: a disc without thickness could not be seen from the side.
THIN = 0.05


def scene(
    sol: Solution,
    path: str | PathLike[str],
    bodies: Iterable[str] | None = None,
    fps: float = 30,
    trail: bool = True,
    title: str | None = None,
) -> Path:
    """Writes a motion as one HTML file to look at in a browser; returns its path.

    A body is a disc if two of its moments of inertia are equal, else a box: evenly filled, of the same mass and inertia. Points are dots,
    joints dots with rods to the centres of mass; beams and shells are bars and plates, with stripes that show how a bar twists.
    ``bodies``: names of those to show, beams and shells among them; all by default. ``fps``: frames per second of the motion; if bodies
    turn fast there are more, so that slow motion shows how they turn. ``trail``: whether centres of mass leave a trail.

    In the browser: drag to turn, with shift to move; wheel or two fingers to zoom; double click for the first view; space to play and stop;
    arrow keys for single frames. An address that ends in ``#t=0.5`` shows the moment 0.5 s, standing still.

    >>> import tempfile
    >>> import kreisel as kr
    >>> sol = kr.simulate(kr.models.heavy_top(), until=0.1, step=1e-3)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     scene(sol, folder + "/top.html").name
    'top.html'
    """
    data = scene_data(sol, bodies, fps, trail)
    names = [b["name"] for b in data["bodies"] if b["shape"]["kind"] != "hidden"] + [f["name"] for f in data["flexible"]]
    title = title or f"{', '.join(names[:3])}: {sol.method}"
    data["title"] = title
    # Within a script element only '<' can do harm: it might begin the tag that ends the element.
    numbers = json.dumps(data, separators=(",", ":"), allow_nan=False).replace("<", "\\u003c")
    before, between, after = re.split(r"{{title}}|{{data}}", files("kreisel.view").joinpath("scene.html").read_text(encoding="utf-8"))
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(before + html.escape(title) + between + numbers + after, encoding="utf-8")
    return path


def scene_data(sol: Solution, bodies: Iterable[str] | None = None, fps: float = 30, trail: bool = True) -> dict[str, Any]:
    """What a scene shows, as numbers and names.

    ``start``, ``stop``, ``frames``: times of the first and the last frame and their number, evenly spaced. ``bodies``: name, positions
    ``x`` and quaternions ``q`` (scalar first; none for points) frame after frame, ``shape``, ``radius``. ``flexible``: beams and shells,
    with ``x`` and ``q`` of their points, frame after frame and point after point. ``links``: joints and springs. ``ground``: normal and
    height of the plane, or None. ``energy``: at the start, and its change since then per frame. SI units.
    """
    if not (np.isfinite(fps) and fps > 0):
        raise ValueError(f"fps must be positive, got {fps}")
    shown, structures = _shown(sol, bodies)
    t = _times(sol, shown, fps)
    flexible = [Flexible(sol, name, sol.system.structures[name], t) for name in structures]
    q = sol(t).q if len(sol.t) > 1 else sol.q
    poses = {}
    for node in shown:
        seat = sol.system.seat(node.name)
        poses[node.name] = _frames(seat, q[:, _columns(sol, node, "n_params")], np.zeros((len(t), seat.group.dim)))
    parts = _parts(sol)
    shapes = {node.name: HIDDEN if node.name in parts else _shape(sol, node) for node in shown}
    links = [link for e in sol.system.elements if (link := _link(e, poses))]
    links += [_pivot(node) for node in shown if isinstance(node, PivotNode)]
    extent = np.concatenate([*(x for _, x, _ in poses.values()), *(f.x.reshape(-1, 3) for f in flexible)])
    digits = 7 - floor(log10(max(np.ptp(extent, axis=0).max(), *(s.radius for s in shapes.values()), 1e-9)))
    data: dict[str, Any] = {"start": float(t[0]), "stop": float(t[-1]), "frames": len(t), "trail": trail, "links": links}
    data["ground"] = _ground(sol, poses, shapes, links, flexible)
    data["flexible"] = [f.data(digits - 2) for f in flexible]
    change = np.interp(t, sol.t, sol.energy - sol.energy[0])
    data["energy"] = {"start": float(sol.energy[0]), "change": [float(f"{c:.3g}") for c in change]}
    data["message"] = "" if sol.success else sol.message
    data["bodies"] = []
    for node in shown:
        R, x, _ = poses[node.name]
        body = {"name": node.name, "x": np.round(x, digits).ravel().tolist(), **shapes[node.name].data()}
        if not isinstance(node, PointNode):
            body["q"] = np.round(_quaternions(R), 6).ravel().tolist()
        data["bodies"].append(body)
    return data


def _shown(sol: Solution, bodies: Iterable[str] | None) -> tuple[list[Node], list[str]]:
    """The nodes to show, and the beams and shells: those asked for, or all that have a place in space.

    Of the nodes of beams and shells only those that a joint or spring holds are among them: it has to know where it is.
    """
    structures, parts = sol.system.structures, _parts(sol)
    if isinstance(bodies, str):
        bodies = [bodies]
    if bodies is None:
        nodes = [n for n in sol.system.bodies if n.name not in parts and _has_place(n)]
        names = list(structures)
        if not nodes and not names:
            raise ValueError("there is nothing to show: no node of the system has a place in space")
    else:
        nodes, names = [], []
        for name in bodies:
            if name in structures:
                names.append(name)
                continue
            sol.configuration(name)  # refuses unknown names
            node = sol._node(name)
            if not _has_place(node):
                raise TypeError(f"'{name}' cannot be shown: it has no place in space")
            nodes.append(node)
        if not nodes and not names:
            raise ValueError("there is nothing to show: bodies is empty")
    tied = {body for e in sol.system.elements if _is_link(e) for body in e.bodies}
    own = {body for name in names for body, _ in structures[name].places}
    return nodes + [n for n in sol.system.bodies if n.name in tied & own & parts and n not in nodes], names


def _parts(sol: Solution) -> set[str]:
    """The nodes that belong to beams and shells."""
    return {name for realised in sol.system.structures.values() for name in realised.own}


def _has_place(node: Node) -> bool:
    return bool(np.all(np.isfinite(_frames(node, node.q[None], node.v[None])[1])))


def _columns(sol: Solution, node: Node, size: str) -> slice:
    """Where the coordinates (or velocities) are that the frame of a body depends on."""
    i = sol.system.number[node.name]
    start = sum(getattr(other.group, size) for other in sol.system.nodes[:i])
    return slice(start, start + getattr(sol.system.nodes[i].group, size))


def _frames(node: Any, q: Array, v: Array) -> tuple[Array, Array, Array]:
    """Rotation matrices (n, 3, 3), positions (n, 3) and angular velocities (n, 3) that belong to coordinates and velocities of a node."""
    symbols = node.group.symbol("q"), ca.SX.sym("v", node.group.dim)
    frame = node.frame(*symbols)
    # A matrix of CasADi is stored by columns, so its transpose lists R row by row.
    f = ca.Function("frame", symbols, [ca.SX(frame.R).T.reshape((9, 1)), frame.x, frame.omega])
    R, x, omega = (np.array(a).T for a in f.map(len(q))(q.T, v.T))
    return R.reshape(-1, 3, 3), x, omega


def _times(sol: Solution, shown: list[Node], fps: float) -> Array:
    """Evenly spaced times of the whole run: so many that a second has fps of them and no body turns by more than TURN in between."""
    if len(sol.t) < 2:
        return sol.t
    length = sol.t[-1] - sol.t[0]
    turning = 0.0
    for node in shown:
        omega = _frames(sol.system.seat(node.name), sol.q[:, _columns(sol, node, "n_params")], sol.v[:, _columns(sol, node, "dim")])[2]
        turning = max(turning, float(np.linalg.norm(omega, axis=1).max()))
    n = max(FEW, min(frames_at_most(sol), max(ceil(fps * length), min(MANY, ceil(turning * length / TURN)))))
    return np.linspace(sol.t[0], sol.t[-1], n + 1)


def _quaternions(R: Array) -> Array:
    """Unit quaternions of rotation matrices, each on the side of the one before."""
    # Between recorded times directors are not quite orthonormal.
    p = convert(SO3.project(R.reshape(-1, 9)), SO3, S3)
    sides = np.where(np.sum(p[1:] * p[:-1], axis=1) < 0, -1.0, 1.0)
    p[1:] *= np.cumprod(sides)[:, None]
    return p


@dataclass(frozen=True)
class Shape:
    """What a body looks like: ``kind`` "box", "disc" (about its third axis), "axes" or "point".

    ``size``: its sides along its principal axes. ``axes``: those, as columns, in body axes.
    """

    kind: str
    size: Array
    axes: Array

    @property
    def radius(self) -> float:
        """Of the sphere around it."""
        return float(np.linalg.norm(self.size)) / 2 if self.kind != "disc" else float(np.hypot(self.size[0], self.size[2])) / 2

    def data(self) -> dict[str, Any]:
        """As numbers for the page, thin sides thickened."""
        size = np.maximum(self.size, THIN * self.size.max())
        q = np.round(_quaternions(self.axes[None])[0], 6)
        shape = {"kind": self.kind, "size": [float(f"{s:.6g}") for s in size], "q": q.tolist()}
        return {"shape": shape, "radius": float(f"{self.radius:.6g}")}

    def reach(self, R: Array, direction: Array) -> Array:
        """How far it reaches from its centre in a direction of space, for rotations (n, 3, 3)."""
        n = np.abs(np.einsum("nij,i->nj", R @ self.axes, direction))
        if self.kind == "disc":
            return np.asarray(self.size[0] / 2 * np.hypot(n[:, 0], n[:, 1]) + self.size[2] / 2 * n[:, 2])
        return np.asarray(n @ self.size / 2)


#: A node of a beam or shell, which is drawn as a whole.
HIDDEN = Shape("hidden", np.zeros(3), np.eye(3))


def _shape(sol: Solution, node: Node) -> Shape:
    if isinstance(node, PointNode):
        return Shape("point", np.zeros(3), np.eye(3))
    for e in sol.system.elements:
        if isinstance(e, Inertia) and e.bodies == (node.name,):
            M = np.zeros((e.n, e.n))
            M[e.pattern] = e.parameters["entries"]
            M = np.triu(M) + np.triu(M, 1).T
            if isinstance(node, RigidNode):
                return _equivalent(M[3, 3], M[:3, :3])
            if isinstance(node, NaturalNode) and not node.plane:
                E = M[3::3, 3::3]
                return _equivalent(M[0, 0], np.trace(E) * np.eye(3) - E)
            if isinstance(node, PivotNode):
                return _equivalent(node.mass, M - node.mass * (node.arm @ node.arm * np.eye(3) - np.outer(node.arm, node.arm)))
    return Shape("axes", np.zeros(3), np.eye(3))


def _equivalent(mass: float, J: Array) -> Shape:
    """The evenly filled box or cylinder with the given mass and inertia about its centre."""
    moments, axes = np.linalg.eigh(J)
    a, b, c = moments
    small = 1e-6 * c
    if a <= 0 or a + b < c - small:
        return Shape("axes", np.zeros(3), np.eye(3))
    if (b - a < small) != (c - b < small):
        order = [0, 1, 2] if b - a < small else [1, 2, 0]
        moments, axes = moments[order], axes[:, order]
        radius = np.sqrt(2 * moments[2] / mass)
        length = np.sqrt(max(12 * moments[0] / mass - 3 * radius**2, 0.0))
        size = np.array([2 * radius, 2 * radius, length])
    else:
        size = np.sqrt(np.maximum(6 * (moments.sum() - 2 * moments) / mass, 0.0))
    if np.linalg.det(axes) < 0:
        axes = axes * [1, -1, 1]
    return Shape("disc" if size[0] == size[1] != size[2] else "box", size, axes)


def _is_link(e: Element) -> bool:
    return {"at_a", "at_b"} <= e.parameters.keys() and not isinstance(e, OnJoint)


def _link(e: Element, poses: dict[str, Any]) -> dict[str, Any] | None:
    """A joint or spring between points of two bodies, if both are shown."""
    if not _is_link(e) or not {*e.bodies} <= {Ground.name, *poses}:
        return None
    (a, b), at = e.bodies, e.parameters
    return {"kind": "spring" if e.constraint is None else "joint", "ends": [_end(a, at["at_a"]), _end(b, at["at_b"])]}


def _pivot(node: PivotNode) -> dict[str, Any]:
    return {"kind": "joint", "ends": [_end(Ground.name, node.pivot), _end(node.name, -node.arm)]}


def _end(body: str, at: Array) -> dict[str, Any]:
    return {"body": None if body == Ground.name else body, "at": at.tolist()}


def _ground(
    sol: Solution, poses: dict[str, Any], shapes: dict[str, Shape], links: list[dict[str, Any]], flexible: list[Flexible]
) -> dict[str, Any] | None:
    """The plane across gravity that no body shown ever crosses: touched, or with some room below if something hangs on a fixed point."""
    weights = [e.parameters["weight"] for e in sol.system.elements if isinstance(e, Gravity)]
    total = np.sum(weights, axis=0) if weights else np.zeros(3)
    if not np.any(total):
        return None
    up = 0.0 - total / np.linalg.norm(total)  # no negative zeros
    lows = [float(np.min(x @ up - shapes[name].reach(R, up))) for name, (R, x, _) in poses.items()]
    low = min(lows + [float(np.min(f.x @ up)) - f.radius for f in flexible])
    fixed = [up @ np.array(end["at"]) for link in links for end in link["ends"] if end["body"] is None]
    fixed += [up @ f.x[0, k] for f in flexible for k in f.shape.get("held", ())]
    if fixed:
        high = max(float(np.max(x @ up)) for x in [*(x for _, x, _ in poses.values()), *(f.x for f in flexible)])
        low = min(low, *fixed) - 0.15 * (max(high, *fixed) - min(low, *fixed))
    return {"normal": up.tolist(), "height": float(f"{low:.6g}")}
