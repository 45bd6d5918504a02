"""The energy-momentum scheme without multipliers: discrete null space and nodal reparametrisation (Siebert, 3.3)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import casadi as ca
import numpy as np

from kreisel.groups import R
from kreisel.mechanics.carrier import Redundant
from kreisel.mechanics.natural import NaturalNode, Orthonormal
from kreisel.mechanics.parametrised import Parametrised, RedundantlyParametrised
from kreisel.mechanics.system import System
from kreisel.mechanics.tree import DirectorTree, NaturalTree, Tree, any_rotation, in_trees, tree_joints
from kreisel.methods.base import Method, Stage
from kreisel.methods.bem import Mean
from kreisel.methods.elements import Columns, Elements, Member, MultiplierView, NodeView
from kreisel.methods.rattlie import constant_mass
from kreisel.rotations import Parametrisation


class Reduced(Stage):
    """Unknowns: the mean rates x of the joint coordinates, theta_{n+1} = theta_n o exp(h x); or v_{n+1/2} itself, where natural coordinates
    and their constraints have stayed."""

    def start(self, n: NodeView, h: ca.SX) -> dict[str, ca.SX]:
        return {"x": n.node.mean_velocity(n.q, n.v, h)}

    def residual(self, e: Elements) -> dict[str, Any]:
        """P^T times the residual of BEM, without multipliers; and constraints, where coordinates do not satisfy them."""
        theta = e.move("x")
        inner: list[NodeView] = []
        of: list[slice] = []
        symbols: Columns = []
        values: Columns = []
        lead: Columns = []
        for i, (n, theta_1) in enumerate(zip(e.nodes, theta, strict=True)):
            own = [NodeView(node, ("v",), ("x",)) for node in n.node.bodies]
            of.append(slice(len(inner), len(inner) + len(own)))
            inner += own
            q0, q1 = (n.node.coordinates(y) for y in (n.q, theta_1)) if isinstance(n.node, Redundant) else (n.q, theta_1)
            mean = (q1 - q0) / e.h
            if isinstance(n.node, Redundant):
                mean = (n.v + e.reach(i, 2 * mean - n.v)) / 2
            symbols += [ca.vertcat(*(getattr(view, name) for view in own)) for name in ("q", "v", "x")]
            values += [ca.densify(y) for y in (q0, n.v, mean)]
            lead += ca.vertsplit(ca.densify(q1), np.cumsum([0, *(view.q.numel() for view in own)]).tolist())
        found = Elements(inner, _members(e, inner), e.h, e.t, MultiplierView(0, ("l",)), MultiplierView(0, ("m",)), e.covariant)
        symbols += found.move("x")
        values += lead
        rows = Mean().residual(found)["x"]
        e.probes += found.probes
        closing = [ca.SX(0, 1) for _ in e.nodes]
        for m, phi in e._constraints(e.t + e.h, theta):
            (i,) = e._places(m)
            closing[i] = ca.vertcat(closing[i], phi / e.h)
        out: Columns = []
        for n, part, phi in zip(e.nodes, of, closing, strict=True):
            u = ca.SX.sym("u", n.node.freedoms if isinstance(n.node, Redundant) else n.group.dim)
            if isinstance(n.node, Redundant):
                middle = {view.node.name: (view.q + q1) / 2 for view, q1 in zip(inner[part], lead[part], strict=True)}
                virtual = list(n.node.null_space(n.q + e.h / 2 * n.x if isinstance(n.group, R) else n.q, middle, u).values())
            else:
                virtual = [u]
            power = sum((ca.dot(r, v) for r, v in zip(rows[part], virtual, strict=True)), start=ca.SX(0))
            # Elements without constraints still have something to say of the motion.
            phi = phi if phi.numel() else ca.SX(n.group.dim - u.numel(), 1)
            out.append(ca.vertcat(ca.gradient(power, u), phi))
        arguments = [probe.arguments for probe in found.probes]
        new = ca.substitute([*out, *arguments], symbols, values)
        for probe, argument in zip(found.probes, new[len(out) :], strict=True):
            probe.arguments = argument
        return {"x": new[: len(out)]}

    def update(self, n: NodeView, h: ca.SX) -> dict[str, ca.SX]:
        q = n.moved(h * n.x)
        if not isinstance(n.node, Redundant):
            return {"q": q, "v": 2 * n.x - n.v}
        return {"q": q, "v": 2 / h * (n.node.coordinates(q) - n.node.coordinates(n.q)) - n.v}


def _members(e: Elements, inner: list[NodeView]) -> list[Member]:
    """The elements on the nodes that are carried."""
    number = {view.node.name: i for i, view in enumerate(inner)}
    nothing = slice(0, 0)
    return [Member(m.element, [number.get(body) for body in m.element.bodies], m.parameters, nothing, nothing) for m in e.members]


@dataclass(frozen=True)
class REM(Method):
    r"""The same motion as with :class:`BEM`, without its constraints and multipliers: for open trees in natural coordinates.

    .. math::

       P(q_{n+1/2})^T\,\bigl(M(v_{n+1} - v_n) + h\,(\bar\nabla V - f)(q_{n+1/2}, v_{n+1/2})\bigr) = 0, \qquad
       q_{n+1} = q(\theta_{n+1}), \quad v_{n+1} = \tfrac2h(q_{n+1} - q_n) - v_n

    with the joint coordinates theta as unknowns (a free body: position, and an incremental rotation vector on its quaternion) and the
    discrete null space matrix P of the middle, GP = 0 (:meth:`DirectorTree.null_space`), so that inputs keep P^T B^T u also where
    they do not act on all joints. The velocities are eliminated ((3.33): what remains is (3.34)); a solution shows natural coordinates
    and velocities, energies and momenta as BEM does, and ``lam`` from what P^T has removed. Source: Siebert, (3.31)-(3.34), with the
    corrected rules of the digest, 3.3.

    ``rotation``: three numbers in the place of the incremental vector, ``kr.rotations.RotationVector`` being her absolute one, d_i =
    R(theta) e_i ((4.11), (4.12) with directors that start along the axes). The motion is the same, as far as the numbers lead: next to a
    full turn, where they are singular, Newton's method fails, and the message says so. The incremental vector fails nowhere.
    ``reparametrise=False``: without theta, as her 2n equations (3.31): unknowns are q and v, and besides P^T (...) = 0 there are the
    constraints, but no multipliers. The motion is again the same.

    >>> import kreisel as kr
    >>> m = kr.Mechanism(gravity=(0, -9.81), plane=True)
    >>> rod = m.body("rod", mass=1.0, inertia=1 / 12, position=(0.5, 0))
    >>> m.joint(kr.Revolute("ground", rod, at=(0, 0, 0), axis=(0, 0, 1), name="pin"))
    >>> sol = kr.simulate(m.system("directors"), until=1, step=0.05, method=kr.REM())
    >>> sol.q.shape, bool(abs(sol.energy).max() < 1e-12)
    ((21, 6), True)
    """

    rotation: Parametrisation | None = None
    reparametrise: bool = True
    covariant: bool = False

    order_multipliers = 1
    symmetric: ClassVar[bool] = True
    midpoint_work: ClassVar[bool] = True
    reduces: ClassVar[bool] = True
    lam_states: ClassVar[tuple[str, ...]] = ("lam",)

    @property
    def stages(self) -> tuple[Stage, ...]:
        return (Reduced(),)

    @property
    def covariant_inputs(self) -> bool:
        return self.covariant

    def refuse(self, system: System) -> str:
        for node in system.nodes:
            if not isinstance(node.group, R) or isinstance(node, Tree):
                return f"'{node.name}' has coordinates on {node.group}; it needs coordinates='directors'"
        for node in system.nodes:
            if isinstance(node, Parametrised) and not self.reparametrise:
                return f"'{node.name}' has coordinates that satisfy constraints; without reparametrisation it needs coordinates='directors'"
        bodies = self._bodies(system)
        described = tree_joints(bodies, system.elements) | {e.name for e in system.elements if isinstance(e, Orthonormal)}
        for e, rows, pfaffian in zip(system.elements, system.rows, system.pfaffian_rows, strict=True):
            if isinstance(e, Orthonormal) and rows and e.bodies[0] not in {n.name for n in bodies}:
                return f"'{e.bodies[0]}' shares its coordinates with others; it needs coordinates='directors'"
            if pfaffian or (rows and e.name not in described):
                what = f"'{e.name}' closes a loop or is a constraint that no joint coordinate describes"
                return f"{what}; it needs an open tree (BEM does not)"
        return constant_mass(system.original or system)

    def reduce(self, system: System) -> System:
        bodies = self._bodies(system)
        others = [RedundantlyParametrised.of(n) if isinstance(n, Parametrised) else n for n in system.nodes if n not in bodies]
        elements = [e for e in system.elements if not isinstance(e, Orthonormal)]
        trees, elements = in_trees(bodies, elements, any(n.plane for n in bodies), any_rotation(self.rotation))
        if not self.reparametrise:
            trees, elements = [NaturalTree(tree) for tree in trees if isinstance(tree, DirectorTree)], system.elements
        return System.of([*trees, *others], elements)

    def _bodies(self, system: System) -> list[NaturalNode]:
        return [n for n in system.nodes if isinstance(n, NaturalNode)]
