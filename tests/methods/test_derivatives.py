"""Newton's matrices against differences of the residuals, and against matrices derived by hand."""

from functools import cache

import casadi as ca
import numpy as np
import pytest
from scipy.linalg import block_diag, null_space
from support import FORMULATIONS

import kreisel as kr
from kreisel.methods.elements import Elements
from kreisel.methods.starts import Accelerations, ProjectPosition, ProjectVelocity
from kreisel.simulation.packs import Layout, PackView, Unknowns


def skew(a):
    return np.array([[0, -a[2], a[1]], [a[2], 0, -a[0]], [-a[1], a[0], 0]])


@cache
def everything(coordinates, constraints):
    """Two bodies and a scalar, with one of each kind of force and, "both", of each kind of constraint; or "holonomic" ones, or "none"."""
    m = kr.Mechanism(gravity=(0.1, -0.2, -9.81))
    m.body("a", 2.0, (0.3, 0.4, 0.5), position=(0.5, 0, 0))
    m.body("b", 1.0, np.array([[0.2, 0.01, 0.02], [0.01, 0.25, 0.03], [0.02, 0.03, 0.3]]), position=(1, 1, 0))
    m.scalar("winch", 0.7)
    pivots = coordinates in ("SO3", "S3")
    if pivots or constraints != "none":
        m.joint(kr.Spherical("ground", "a", at_b=(-0.5, 0.1, 0.2), name="shoulder"))
    if pivots:
        m.joint(kr.Spherical("ground", "b", at_a=(2, 1, 0), at_b=(0.3, -0.4, 0.1), name="hip"))
    elif constraints != "none":
        m.joint(kr.Spherical("a", "b", at_a=(0.4, 0.2, 0), at_b=(0, -0.8, 0), name="elbow"))
    m.force(kr.Spring("a", "b", 30.0, length=0.5, at_a=(0.1, 0.2, 0.3), at_b=(-0.3, 0.1, 0), name="spring"))
    m.force(kr.Spring("ground", "b", 20.0, at_a=(3, 0, 1), at_b=(0.2, 0, 0.1), name="string"))
    m.force(kr.Damper("a", "b", 2.0, at_a=(0, 0.3, 0.1), at_b=(0.1, 0, 0.4), name="damper"))
    m.force(kr.Damper("b", "ground", 1.5, at_a=(0, 0.3, 0.1), straight=False, name="bath"))
    m.force(kr.TorsionSpring("a", "b", (1, 2, -1), 8.0, 0.5, name="torsion"))
    m.force(kr.Friction("b", translational=0.4, rotational=0.3, name="friction"))
    m.force(kr.Load("b", force=(1, 2, 3), moment=(0.3, 0.2, 0.1), at=(0.1, 0.2, 0.3), axes="body", history=ca.sin, name="thrust"))
    m.force(kr.Load("a", force=(-1, 2, 1), moment=(0.1, -0.2, 0.1), at=(0.3, 0, 0.1), name="push"))
    m.force(kr.Potential("bowl", "a", "winch", lambda a, w: a.x[2] ** 2 * (1 + w.value**2) + ca.cos(w.value)))
    m.force(kr.Force("drag", "b", lambda t, b, u: -ca.sqrt(1 + ca.sumsqr(b.velocity)) * ca.dot(b.velocity, u.velocity) * ca.exp(-t)))
    if constraints != "none":
        m.joint(kr.Constraint("rope", "b", "winch", lambda t, b, w: b.R[2, 1] * b.x[0] - ca.sin(w.value) + t))
    if constraints == "both":
        m.joint(kr.Pfaffian("knife", "a", "b", lambda t, a, b: ca.dot(a.R[:, 1], b.velocity) - a.omega[0] * b.x[2]))
    return m.system(coordinates)


STAGES = {
    "RATTLie, half": (kr.RATTLie(), lambda m: m.stages[0], "both"),
    "RATTLie, full": (kr.RATTLie(), lambda m: m.stages[1], "both"),
    "SHAKELie": (kr.SHAKELie(), lambda m: m.stages[0], "holonomic"),
    "SHAKELie, opening": (kr.SHAKELie(), lambda m: m.opening[0], "holonomic"),
    "GeneralizedAlpha": (kr.GeneralizedAlpha(), lambda m: m.stages[0], "both"),
    "GeneralizedAlpha, stabilised": (kr.GeneralizedAlpha(index="stabilised-2"), lambda m: m.stages[0], "both"),
    "BLieDF(2)": (kr.BLieDF(2), lambda m: m.stages[0], "holonomic"),
    "BLieDF(2), opening": (kr.BLieDF(2), lambda m: m.opening[0], "holonomic"),
    "A1": (kr.A1(0.3, 0.6), lambda m: m.stages[0], "none"),
    "A2": (kr.A2(0.3, 0.6), lambda m: m.stages[0], "none"),
    "A3": (kr.A3(0.3, 0.7), lambda m: m.stages[0], "none"),
    "A4": (kr.A4(0.7), lambda m: m.stages[0], "none"),
    "Newmark": (kr.Newmark(0.3, 0.6), lambda m: m.stages[0], "none"),
    "WeightedResidual": (kr.WeightedResidual(X=lambda s: s, V=0.4), lambda m: m.stages[0], "none"),
    "Baumgarte, inner": (kr.Baumgarte(3, 4), lambda m: m.stages[2], "both"),
    "Baumgarte, closing": (kr.Baumgarte(3, 4), lambda m: m.stages[4], "both"),
    "Projection, position": (kr.Projection(), lambda m: m.stages[4], "both"),
    "accelerations": (kr.GeneralizedAlpha(), lambda m: Accelerations(*m.acceleration_targets), "both"),
    "position": (kr.RATTLie(), lambda m: ProjectPosition(), "both"),
    "velocity": (kr.RATTLie(), lambda m: ProjectVelocity(), "both"),
}


def view_of(system, method, stage):
    layout = Layout(system, method)
    return layout, PackView(layout, stage, Unknowns(system, stage), [list(range(len(system.elements)))])


def random_states(layout, rng):
    """Configurations on the groups, all other states of order one, the parameters as they are."""
    S = layout.start()
    S[2 : layout.n_state] = rng.standard_normal(layout.n_state - 2)
    for node, places in zip(layout.system.nodes, layout.nodes, strict=True):
        S[places["q"] : places["q"] + node.group.n_params] = node.group.random(rng.integers(2**32))
    S[0], S[1] = 0.1, 0.37
    return S


def at(view, S, unknowns, outputs):
    """Values of expressions at the states S and given unknowns (in the order of view.unknown_symbols)."""
    symbols = ca.symvar(ca.vertcat(*(ca.vec(ca.densify(y)) for y in outputs)))
    place = {s.element_hash(): k for k, s in enumerate(ca.vertsplit(view.unknown_symbols))}
    f = ca.Function("f", [ca.vertcat(*symbols)], outputs)

    def value(x):
        got = [x[place[h]] if h in place else S[view.table[h][0]] for h in (s.element_hash() for s in symbols)]
        return [np.array(y) for y in f.call([ca.DM(got)])]

    return value(unknowns), value


@cache
def structures(coordinates):
    """A beam that is part of a body, and a cell of a shell, with relative motions from the ground, nodes and offsets."""
    m = kr.Mechanism(gravity=(0.1, -0.2, -9.81))
    m.body("tip", 2.0, (0.3, 0.4, 0.5), position=(0.3, 0.2, 2.1))
    section = kr.Section(5.0, 4.0, 3.0, 10.0, 20.0, 30.0, 1.5, (1.0, 2.0, 3.0))
    rod = m.beam("rod", 2.0, 2, section, variant="kirchhoff", start="clamped", end="tip", viscosity=(1, 2, 3, 4, 5, 6))
    rod.load(force=(1, 2, 3), moment=(0.3, 0.2, 0.1), axes="body")
    C = np.random.default_rng(3).standard_normal((12, 12))
    m.shell("plate", (1.0, 0.7), (1, 1), kr.Layer(0.1, 10.0, C @ C.T), clamped="s1=0")
    return m.system(coordinates)


def near_states(layout, rng):
    """As random states, but configurations near the start: strains stay away from the pole of the inverse tangent operator."""
    S = random_states(layout, rng)
    for node, places in zip(layout.system.nodes, layout.nodes, strict=True):
        q = node.group.retract(node.q, 0.4 * rng.standard_normal(node.group.dim))
        S[places["q"] : places["q"] + node.group.n_params] = q
    return S


@pytest.mark.parametrize("coordinates", ["S3R3", "SE3"])
@pytest.mark.parametrize("name", STAGES)
def test_matrix_of_structures(name, coordinates):
    method, choose, _ = STAGES[name]
    layout, view = view_of(structures(coordinates), method, choose(method))
    rng = np.random.default_rng(5)
    check_matrix(view, near_states(layout, rng), rng.standard_normal(view.unknown_symbols.numel()))


@pytest.mark.parametrize("coordinates", FORMULATIONS)
@pytest.mark.parametrize("name", STAGES)
def test_matrix_is_the_derivative_of_the_residual(name, coordinates):
    method, choose, constraints = STAGES[name]
    layout, view = view_of(everything(coordinates, constraints), method, choose(method))
    rng = np.random.default_rng(5)
    check_matrix(view, random_states(layout, rng), rng.standard_normal(view.unknown_symbols.numel()))


def check_matrix(view, S, x):
    (r, J), value = at(view, S, x, [view.residual, view.jacobian])
    # Sixth order: truncation 1e-14, rounding 1e-16 |r| / e.
    e, weights = 1e-2, {1: 3 / 4, 2: -3 / 20, 3: 1 / 60}
    numerical = np.stack(
        [sum(w * (value(x + k * e * u)[0] - value(x - k * e * u)[0]) for k, w in weights.items())[:, 0] / e for u in np.eye(len(x))], axis=1
    )
    scale = max(np.abs(J).max(), np.abs(r).max())
    np.testing.assert_allclose(J, numerical, rtol=0, atol=1e-9 * scale)
    assert len(r) == len(x)


@pytest.mark.parametrize("coordinates", ["SO3", "SO3xR3", "SE3"])
def test_kernels_of_large_systems_add_up(coordinates):
    """Element by element, as large systems are evaluated, gives the sum of all at once."""
    method = kr.GeneralizedAlpha(index="stabilised-2")
    system, stage = everything(coordinates, "both"), method.stages[0]
    layout, whole = view_of(system, method, stage)
    rng = np.random.default_rng(6)
    S, n = random_states(layout, rng), whole.unknown_symbols.numel()
    x = rng.standard_normal(n)  # by number of the unknown
    u = Unknowns(system, stage)

    def assembled(sets):
        r, J = np.zeros(n), np.zeros((n, n))
        for members in sets:
            view = PackView(layout, stage, u, [members])
            (part, block), _ = at(view, S, x[view.columns[0]], [view.residual, view.jacobian])
            np.add.at(r, view.rows[0], part[:, 0])
            np.add.at(J, np.ix_(view.rows[0], view.columns[0]), block)
        return r, J

    everywhere = range(len(system.elements))
    for a, b in zip(assembled([list(everywhere)]), assembled([[k] for k in everywhere]), strict=True):
        assert np.abs(a).max() > 1
        np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-11)


# Klemps: iteration matrices of the tops


class Forces:
    """g + B^T lam of a system with one body, and its derivatives K (along the group) and D (by v), in numbers."""

    def __init__(self, system):
        method = kr.GeneralizedAlpha()
        self.layout, self.view = view_of(system, method, method.stages[0])
        e: Elements = self.view.elements
        (n,) = e.nodes
        (q,), (v,) = e.q, e.get("v")
        zero = ca.SX.zeros(n.group.dim)
        r = e.inertia([q], [v], [zero])[0] - e.force(e.t, [q], [v])[0] + e.constraint_force(e.t, [q], e.lam.lam)[0]
        w = ca.SX.sym("w", n.group.dim)
        along = ca.jacobian(n.group.rate(q, w), w)
        self.outputs = [r, ca.mtimes(ca.jacobian(r, q), along), ca.jacobian(r, v), ca.jacobian(e.constraint_rate(e.t, [q], [v]), v)]
        self.rate = ca.jacobian(e.pfaffian(e.t, [q], [v]), v)

    def at(self, q, v, lam):
        S, places = self.layout.start(), self.layout.nodes[0]
        S[places["q"] : places["q"] + len(q)] = q
        S[places["v"] : places["v"] + len(v)] = v
        if len(lam):
            k = next(p["lam"] for p in self.layout.lam if p)
            S[k : k + len(lam)] = lam
        (*values,), _ = at(self.view, S, np.zeros(0), [*self.outputs, self.rate])
        return values


def spring_stiffness(R, k):
    """K_F (Klemps, Lemma A.2.1), with the third entry of the third row corrected to r32 r33."""
    r31, r32, r33 = R[2]
    D = r32**2 + r33**2
    c1 = k * np.arctan2(r32, r33)
    v1 = k * np.array([1, -r32 * r31 / D, -r33 * r31 / D])
    last = np.array([0, r31 * r33, -r31 * r32])
    v2 = -(r32 * r31 / D) * v1 - c1 / D * np.array([r31 * r33, -r32 * r33, r32**2 - r31**2]) + 2 * c1 * r32 * r31 / D**2 * last
    v3 = -(r33 * r31 / D) * v1 - c1 / D * np.array([-r31 * r32, r31**2 - r33**2, r32 * r33]) + 2 * c1 * r33 * r31 / D**2 * last
    return np.stack([v1, v2, v3])


@pytest.mark.parametrize("stiffness", [0.0, 100.0])
@pytest.mark.parametrize("form", ["SO3", "SO3xR3", "SE3"])
def test_iteration_matrices_of_the_extended_top(form, stiffness):
    """Klemps, A.1 and A.2 as corrected, here with rotation before translation."""
    m, d, X, gamma = 15.0, 0.7, np.array([1.0, 0, 0]), np.array([0, -9.81, 0])
    top = Forces(kr.models.extended_top(form, stiffness=stiffness, damping=d))
    J = np.diag([0.46875, 15.234375, 15.234375] if form == "SO3" else [0.46875, 0.234375, 0.234375])
    rng = np.random.default_rng(7)
    for _ in range(5):
        R = kr.SO3.random(rng.integers(2**32)).reshape(3, 3)
        W, lam = rng.standard_normal((2, 3))
        D_rot = skew(W) @ J - skew(J @ W) + d * np.eye(3)
        K_F, weight, zero = spring_stiffness(R, stiffness), m * skew(R.T @ gamma), np.zeros((3, 3))
        if form == "SO3":
            _, K, D, _, _ = top.at(R.ravel(), W, [])
            np.testing.assert_allclose(K, -skew(X) @ weight + K_F, atol=1e-10)
            np.testing.assert_allclose(D, D_rot, atol=1e-12)
            continue
        U = np.cross(W, X)
        v = np.r_[W, U if form == "SE3" else R @ U]
        # Our constraint has the other sign, and so has the multiplier.
        _, K, D, B, _ = top.at(np.r_[R.ravel(), R @ X], v, -lam)
        if form == "SE3":
            K_hand, D_hand = np.block([[K_F, zero], [-weight, zero]]), np.block([[D_rot, zero], [-m * skew(U), m * skew(W)]])
            np.testing.assert_allclose(B, np.hstack([skew(X), np.eye(3)]), atol=1e-14)
        else:
            K_hand, D_hand = np.block([[K_F, zero], [R @ skew(lam), zero]]), block_diag(D_rot, zero)
            np.testing.assert_allclose(B, np.hstack([skew(X), R.T]), atol=1e-14)
        np.testing.assert_allclose(D, D_hand, atol=1e-12)
        # The source writes X for R^T x in B, so the two differ across the constraints, not along them.
        along = null_space(B)
        np.testing.assert_allclose(K @ along, K_hand @ along, atol=1e-10)
        across = np.zeros((6, 6))
        across[:3] = skew(-lam) @ B
        np.testing.assert_allclose(K, K_hand + across, atol=1e-10)


def test_spring_force():
    """Klemps, (2.32): g_F = k alpha (1, -r32 r31/D, -r33 r31/D)."""
    with_spring, without = (Forces(kr.models.extended_top("SO3", stiffness=k)) for k in (100.0, 0.0))
    for seed in range(5):
        R = kr.SO3.random(seed).reshape(3, 3)
        r31, r32, r33 = R[2]
        D = r32**2 + r33**2
        expected = 100 * np.arctan2(r32, r33) * np.array([1, -r32 * r31 / D, -r33 * r31 / D])
        gap = with_spring.at(R.ravel(), np.zeros(3), [])[0] - without.at(R.ravel(), np.zeros(3), [])[0]
        np.testing.assert_allclose(gap[:, 0], expected, rtol=1e-12, atol=1e-11)


# Hante: RATTLie's first stage, the rolling disk


@pytest.mark.parametrize("form", FORMULATIONS)
def test_first_stage_of_rattlie(form):
    """3.4: [[T^-T(-hw) M - h S(-hw, Mw), DPhi_n^T/2], [DPhi_{n+1} T(hw)/2, 0]]."""
    system, method = kr.models.heavy_top(form, "fast"), kr.RATTLie()
    layout, view = view_of(system, method, method.stages[0])
    rng = np.random.default_rng(8)
    S, group, X = random_states(layout, rng), system.nodes[0].group, np.array([0, 1.0, 0])
    h, places = S[0], layout.nodes[0]
    q = S[places["q"] : places["q"] + group.n_params]
    x = rng.standard_normal(view.unknown_symbols.numel())
    (_, J), _ = at(view, S, x, [view.residual, view.jacobian])
    w, n = x[: group.dim], group.dim
    inertia = np.diag([0.234375, 0.46875, 0.234375])
    M = inertia - 15 * skew(X) @ skew(X) if n == 3 else block_diag(inertia, 15 * np.eye(3))
    np.testing.assert_allclose(J[:n, :n], group.Tinv(-h * w).T @ M - h * group.S(-h * w, M @ w), rtol=1e-12, atol=1e-12)
    if n == 3:
        return

    def DPhi(q):
        if form in ("SO3xR3", "S3xR3"):
            R, x = kr.convert(q, group, kr.SO3 * kr.R(3))[:9].reshape(3, 3), q[-3:]
            return np.hstack([skew(R.T @ x), R.T])
        y = kr.convert(q, group, kr.SE3)
        return np.hstack([skew(y[:9].reshape(3, 3).T @ y[9:]), np.eye(3)])

    np.testing.assert_allclose(J[:n, n:], DPhi(q).T / 2, atol=1e-13)
    np.testing.assert_allclose(J[n:, :n], DPhi(group.retract(q, h * w)) @ group.T(h * w) / 2, atol=1e-13)
    np.testing.assert_array_equal(J[n:, n:], 0)


def test_constraints_of_the_rolling_disk():
    """Hante, Remark 5.2: DPhi, and B with the sign of its entry (1, 2) corrected."""
    disk = Forces(kr.models.rolling_disk())
    rng = np.random.default_rng(9)
    for _ in range(10):
        p, x = kr.S3.random(rng.integers(2**32)), rng.standard_normal(3)
        x3 = x[2] = np.abs(x[2])
        p0, p1, p2, p3 = p
        a = p0**2 + p3**2 - p1**2 - p2**2
        _, _, _, DPhi, B = disk.at(np.r_[p, x], np.zeros(6), [])
        s, c = p0 * p1 + p2 * p3, p1 * p3 - p0 * p2
        np.testing.assert_allclose(DPhi, [[-2 * s * a, 2 * c * a, 0, 2 * c * x3, 2 * s * x3, a * x3]], atol=1e-14)
        first = [
            -4 * (p0 * p2 + p1 * p3) * s, -4 * (p0**2 * p2**2 - p1**2 * p3**2), 2 * (p0 * p1 - p2 * p3),
            (p0**2 + p1**2 - p2**2 - p3**2) * x3, 2 * (p1 * p2 - p0 * p3) * x3, 2 * (p0 * p2 + p1 * p3) * x3,
        ]  # fmt: skip
        second = [
            4 * (p0 * p1 - p2 * p3) * s, 4 * (p0 * p2 - p1 * p3) * (p0 * p1 - p2 * p3), 2 * (p0 * p2 + p1 * p3),
            2 * (p1 * p2 + p0 * p3) * x3, (p0**2 - p1**2 + p2**2 - p3**2) * x3, 2 * (p2 * p3 - p0 * p1) * x3,
        ]  # fmt: skip
        np.testing.assert_allclose(B, [first, second], atol=1e-14)
