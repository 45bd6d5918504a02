"""Forces and joints against their definitions, written out with positions and velocities in NumPy."""

import casadi as ca
import numpy as np
import pytest
from scipy.integrate import simpson

import kreisel as kr
from kreisel.methods.elements import Elements
from kreisel.simulation.packs import Layout, PackView, Unknowns

K, L, C, D = 40.0, 0.6, 1.5, 0.4
P, Q = np.array([0.3, -0.1, 0.2]), np.array([-0.2, 0.4, 0.1])  # points of the bodies
AXIS = np.array([1.0, 2.0, -1.0]) / np.sqrt(6)
F, T = np.array([3.0, -2.0, 1.0]), np.array([0.5, 0.2, -0.4])


class Motion:
    """Two bodies along a solution; ``points`` gives the places and velocities of the points P of a and Q of b."""

    def __init__(self, sol):
        self.t = sol.t
        for name in "ab":
            setattr(self, "R" + name, sol.rotation(name))
            setattr(self, "x" + name, sol.position(name))
            v = sol.velocity(name, "space")
            setattr(self, "w" + name, v[:, :3])
            setattr(self, "v" + name, v[:, 3:])

    def points(self):
        pa, pb = self.Ra @ P, self.Rb @ Q
        return self.xa + pa, self.xb + pb, self.va + np.cross(self.wa, pa), self.vb + np.cross(self.wb, pb)


def dot(a, b):
    return np.sum(a * b, axis=-1)


def stretch(m):
    a, b, _, _ = m.points()
    return np.linalg.norm(b - a, axis=1)


def squeeze(m):
    a, b, va, vb = m.points()
    return -C * (dot(b - a, vb - va) / np.linalg.norm(b - a, axis=1)) ** 2


def bath(m):
    _, _, va, vb = m.points()
    return -C * dot(vb - va, vb - va)


def twist(m):
    """The angle about AXIS: of the projection of a direction of b, in the axes of a."""
    relative = np.swapaxes(m.Ra, 1, 2) @ m.Rb
    e1 = np.linalg.svd(AXIS[None])[2][1]
    e2 = np.cross(AXIS, e1)
    return np.arctan2(relative @ e1 @ e2, relative @ e1 @ e1)


def none(m):
    return np.zeros(len(m.t))


#: Force, its potential energy, the power of work and the power of losses, by hand.
FORCES = {
    "spring": (kr.Spring("a", "b", K, length=L, at_a=P, at_b=Q), lambda m: K / 2 * (stretch(m) - L) ** 2, none, none),
    "linear spring": (kr.Spring("a", "b", K, at_a=P, at_b=Q), lambda m: K / 2 * stretch(m) ** 2, none, none),
    "damper": (kr.Damper("a", "b", C, at_a=P, at_b=Q), none, none, squeeze),
    "bath": (kr.Damper("a", "b", C, at_a=P, at_b=Q, straight=False), none, none, bath),
    "torsion": (kr.TorsionSpring("a", "b", 3 * AXIS, K), lambda m: K / 2 * twist(m) ** 2, none, none),
    "damped torsion": (
        kr.TorsionSpring("a", "b", AXIS, K, C), lambda m: K / 2 * twist(m) ** 2, none, lambda m: -C * dot(m.Ra @ AXIS, m.wb - m.wa) ** 2,
    ),
    "joint friction": (kr.JointFriction("a", "b", C), none, none, lambda m: -C * dot(m.wb - m.wa, m.wb - m.wa)),
    "friction": (kr.Friction("b", C, D), none, none, lambda m: -C * dot(m.vb, m.vb) - D * dot(m.wb, m.wb)),
    "space load": (
        kr.Load("b", F, T, at=Q, history=lambda t: ca.cos(2 * t)), none, lambda m: np.cos(2 * m.t) * (m.points()[3] @ F + m.wb @ T), none,
    ),
    "body load": (kr.Load("b", F, T, at=Q, axes="body"), none, lambda m: dot(m.Rb @ F, m.points()[3]) + dot(m.Rb @ T, m.wb), none),
    "potential": (
        kr.Potential("well", "a", "b", lambda a, b: C * ca.dot(a.R[:, 0], b.R[:, 1]) * ca.sumsqr(a.x - b.x)),
        lambda m: C * dot(m.Ra[:, :, 0], m.Rb[:, :, 1]) * dot(m.xa - m.xb, m.xa - m.xb), none, none,
    ),
    "force": (
        kr.Force("drag", "a", lambda t, a, u: -D * ca.norm_2(a.velocity) * ca.dot(a.velocity, u.velocity)),
        none, lambda m: -D * dot(m.va, m.va) ** 1.5, none,
    ),
}  # fmt: skip


def free_pair(force=None):
    m = kr.Mechanism()
    m.body("a", 2.0, (0.3, 0.4, 0.5), position=(0.2, 0.1, 0), omega=(1, -0.5, 0.7), velocity=(0.3, 0.2, -0.1))
    m.body(
        "b",
        1.0,
        np.array([[0.2, 0.01, 0.02], [0.01, 0.25, 0.03], [0.02, 0.03, 0.3]]),
        position=(1, 1, 0.5),
        omega=(-1, 0.8, 1.5),
        velocity=(-0.4, 0, 0.6),
    )
    if force is not None:
        m.force(force)
    return m


@pytest.mark.parametrize("coordinates", ["SO3xR3", "S3R3"])
@pytest.mark.parametrize("name", FORCES)
def test_power_balance(name, coordinates):
    """dE/dt = power, integrated: what the motion has gained is what the force, by hand, has given."""
    force, potential, work, loss = FORCES[name]
    mechanism = free_pair(force)
    sol = kr.simulate(mechanism.system(coordinates), until=1, step=2**-7, method=kr.Composition(order=4))
    assert sol.success
    m = Motion(sol)
    np.testing.assert_allclose(sol.potential_energy, potential(m), atol=1e-12)
    bodies = mechanism.bodies.values()
    kinetic = sum(
        dot(sol.velocity(b.name, "body")[:, :3] @ b.inertia, sol.velocity(b.name, "body")[:, :3]) / 2
        + b.mass / 2 * dot(sol.velocity(b.name, "space")[:, 3:], sol.velocity(b.name, "space")[:, 3:])
        for b in bodies
    )
    np.testing.assert_allclose(sol.kinetic_energy, kinetic, atol=1e-12)
    assert np.ptp(kinetic) > 1e-2  # the force does something
    gained = kinetic[-1] + potential(m)[-1] - kinetic[0] - potential(m)[0]
    given = simpson(work(m) + loss(m), x=m.t)
    # Order 4, with the steps of the order of 1/20 of a period: 20^-4 of the largest energy, times one.
    scale = np.abs(kinetic).max() + np.abs(potential(m)).max()
    assert gained == pytest.approx(given, abs=1e-5 * scale)
    # The library's own bookkeeping, with the trapezoidal rule: off by h^2/12 times the range of the derivative of the power
    for have, power in ((sol.work, work(m)), (-sol.dissipated, loss(m))):
        slopes = np.gradient(power, m.t)
        assert have[-1] == pytest.approx(simpson(power, x=m.t), abs=1.1 * 2**-14 / 12 * np.ptp(slopes) + 1e-12)


@pytest.mark.parametrize("name", FORCES)
def test_energy_is_kept_at_every_moment(name):
    """dE/dt = power by central differences along the motion."""
    force, potential, work, loss = FORCES[name]
    h = 2**-10
    sol = kr.simulate(free_pair(force).system("SE3"), until=64 * h, step=h, method=kr.Composition(order=4))
    m = Motion(sol)
    E = sol.kinetic_energy + potential(m)
    slope = (8 * (E[3:-1] - E[1:-3]) - (E[4:] - E[:-4])) / (12 * h)
    power = (work(m) + loss(m))[2:-2]
    # rounding of E over h, and the fifth derivative with frequencies up to 30: h^4 30^5 / 30
    assert np.abs(slope - power).max() < 1e-5 * (1 + np.abs(E).max())


def test_moving_along_the_angle_of_a_torsion_spring():
    """Turned by phi about the axis, it holds k phi^2 / 2 and pushes back about the axis."""
    for phi in (0.3, -1.2, 3.0):
        m = kr.Mechanism()
        rotation = np.asarray(kr.SO3.matrix(kr.SO3.exp(phi * AXIS)))
        m.body("a", 1.0, (1, 1, 1))
        m.body("b", 1.0, (1, 1, 1), rotation=rotation)
        m.force(kr.TorsionSpring("a", "b", AXIS, K))
        sol = kr.simulate(m.system("SO3xR3"), until=0.01, step=0.01)
        assert sol.potential_energy[0] == pytest.approx(K / 2 * phi**2, rel=1e-12)
        np.testing.assert_allclose(sol.a[0], np.r_[K * phi * AXIS, 0, 0, 0, -K * phi * AXIS, 0, 0, 0], atol=1e-11)


def view_of(system):
    method = kr.GeneralizedAlpha()
    layout = Layout(system, method)
    return layout, PackView(layout, method.stages[0], Unknowns(system, method.stages[0]), [list(range(len(system.elements)))])


def generalised_force(system, kind, seed):
    """Forces (or forces of constraints) of all elements at a random state: per body rotation, position, moment and force in space axes."""
    layout, view = view_of(system)
    e: Elements = view.elements
    force = e.force(e.t, e.q, e.get("v")) if kind == "force" else e.constraint_force(e.t, e.q, e.lam.lam)
    symbols = ca.symvar(ca.vertcat(*force))
    rng = np.random.default_rng(seed)
    S = layout.start()
    S[2 : layout.n_state] = rng.standard_normal(layout.n_state - 2)
    found = []
    for node, places in zip(system.nodes, layout.nodes, strict=True):
        S[places["q"] : places["q"] + node.group.n_params] = node.group.random(rng.integers(2**32))
    values = ca.Function("f", [ca.vertcat(*symbols)], force).call([ca.DM([S[view.table[s.element_hash()][0]] for s in symbols])])
    for node, places, y in zip(system.nodes, layout.nodes, values, strict=True):
        pose = kr.convert(S[places["q"] : places["q"] + node.group.n_params], node.group, kr.SE3)
        R, x, y = pose[:9].reshape(3, 3), pose[9:], np.array(y)[:, 0]
        found.append((x, R @ y[:3], R @ y[3:] if node.body_axes else y[3:]))
    return found


@pytest.mark.parametrize("coordinates", ["SO3xR3", "SE3", "UDQ"])
@pytest.mark.parametrize(
    "name", ["spring", "linear spring", "damper", "bath", "torsion", "damped torsion", "joint friction", "potential", "joint"]
)
def test_action_is_reaction(name, coordinates):
    """Between bodies: no net force, no net moment. (A damper in all directions has a moment when its ends are apart.)"""
    mechanism = free_pair(None if name == "joint" else FORCES[name][0])
    if name == "joint":
        mechanism.joint(kr.Spherical("a", "b", at_a=P, at_b=Q))
    system = mechanism.system(coordinates)
    for seed in range(3):
        bodies = generalised_force(system, "constraint" if name == "joint" else "force", seed)
        size = max(np.abs(f).max() + np.abs(m).max() for _, m, f in bodies)
        assert size > 0.1
        np.testing.assert_allclose(sum(f for _, _, f in bodies), 0, atol=1e-13 * size)
        if name != "bath":
            np.testing.assert_allclose(sum(m + np.cross(x, f) for x, m, f in bodies), 0, atol=1e-13 * size)


def test_the_multiplier_of_a_ball_joint_is_the_force():
    """A body that hangs at rest from a ball joint: what it exerts on the ground is its weight, in its own axes."""
    m = kr.Mechanism(gravity=(0, 0, -9.81))
    rotation = np.asarray(kr.SO3.matrix(kr.SO3.exp([0, 0.3, 0])))
    arm = rotation.T @ [0, 0, 0.5]
    m.body("b", 2.0, (0.1, 0.1, 0.1), position=(1, 2, 2.5), rotation=rotation)
    m.joint(kr.Spherical("ground", "b", at_a=(1, 2, 3), at_b=arm))
    sol = kr.simulate(m.system("SE3"), until=0.1, step=0.01)
    np.testing.assert_allclose(sol.multipliers("separate"), np.tile(rotation.T @ [0, 0, -2 * 9.81], (11, 1)), atol=1e-10)
    np.testing.assert_allclose(sol.v, 0, atol=1e-13)


def test_a_body_under_a_load_moves_as_newton_says():
    """A constant force in space, half the force by history: positions of a free body are exact for RATTLie."""
    m = kr.Mechanism(gravity=(0, 0, -10))
    m.body("b", 2.0, (0.1, 0.1, 0.1), velocity=(1, 0, 0))
    m.force(kr.Load("b", force=(4, 0, 0), history=lambda t: 0.5 + 0 * t))
    for coordinates in ("SO3xR3", "UDQ"):
        sol = kr.simulate(m.system(coordinates), until=1, step=0.1)
        np.testing.assert_allclose(sol.position("b"), np.stack([sol.t + sol.t**2 / 2, 0 * sol.t, -5 * sol.t**2], axis=1), atol=1e-13)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: kr.Spring("a", "a", 1.0), "'spring between a and a' connects 'a' with itself"),
        (lambda: kr.Spherical("a", "a", name="hip"), "'hip' connects 'a' with itself"),
        (lambda: kr.TorsionSpring("a", "b", (0, 0, 0), 1.0), "the axis has length zero"),
        (lambda: kr.Load("a", axes="moon"), "load on a: axes must be 'space' or 'body', got 'moon'"),
        (lambda: kr.Load("a", force=(1, 2)), "load on a: force must be three finite numbers"),
        (lambda: kr.Spring("a", "b", 1.0, at_a=(1, 2, np.nan)), "at_a must be three finite numbers"),
    ],
)
def test_messages(make, words):
    with pytest.raises(ValueError, match=words):
        make()
