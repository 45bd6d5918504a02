"""Natural coordinates: the building blocks against their definitions, and mechanisms in them, in space and in the plane."""

import casadi as ca
import numpy as np
import pytest
from numpy.testing import assert_allclose

import kreisel as kr
from kreisel.mechanics.natural import NaturalNode, Orthonormal

rng = np.random.default_rng(7)


def cloud():
    """Mass points of a body: masses, body coordinates; their mass, centre and inertia about it."""
    m, r = rng.uniform(0.5, 2, 9), rng.standard_normal((9, 3))
    s = m @ r / m.sum()
    d = r - s
    J = sum(mi * (di @ di * np.eye(3) - np.outer(di, di)) for mi, di in zip(m, d, strict=True))
    return m, r, m.sum(), s, J


def moving_frame():
    R = kr.SO3.exp(rng.standard_normal(3)).reshape(3, 3)
    W, x, u = rng.standard_normal((3, 3))
    rates = R @ np.cross(np.eye(3), W)
    return R, x, W, u, kr.natural.coordinates(R, x), kr.natural.coordinates(rates, u)


def test_mass_matrix_is_that_of_the_points():
    """Kinetic energy of a cloud of points, the reference point not the centre of mass (Müller, item 25; inertia about the centre)."""
    m, r, mass, s, J = cloud()
    R, _, W, u, _, v = moving_frame()
    pseudo = kr.natural.pseudo_inertia(mass, J, s)
    direct = sum(mi * np.sum((u + R @ np.cross(W, ri)) ** 2) / 2 for mi, ri in zip(m, r, strict=True))
    M = kr.natural.mass_matrix(pseudo)
    assert v @ M @ v / 2 == pytest.approx(direct, rel=1e-13)
    assert_allclose(pseudo[:3, :3], np.einsum("n,ni,nj->ij", m, r, r), atol=1e-13)
    Z = np.column_stack([R @ np.cross(np.eye(3), W), u])
    assert np.trace(Z @ pseudo @ Z.T) / 2 == pytest.approx(direct, rel=1e-13)


@pytest.mark.parametrize(("E", "rank"), [((1, 2, 3), 12), ((1, 2, 0), 9), ((1, 0, 0), 6)])
def test_rank_of_the_mass_matrix(E, rank):
    """Of a solid, a plate and a rod; only the rod leaves the motion undetermined."""
    J = np.diag(sum(E) - np.array(E, dtype=float))
    M = kr.natural.mass_matrix(kr.natural.pseudo_inertia(1.0, J))
    assert np.linalg.matrix_rank(M) == rank
    g = moving_frame()[4]
    q = ca.SX.sym("q", 12)
    phi = Orthonormal("b").constraint(None, None, NaturalNode("b").frame(q, ca.SX.zeros(12)))
    B = ca.Function("B", [q], [ca.jacobian(phi, q)])(g).full()
    assert np.linalg.matrix_rank(np.block([[M, B.T], [B, np.zeros((6, 6))]])) == (17 if rank == 6 else 18)


def test_rods_are_refused_and_plates_are_not():
    m = kr.Mechanism()
    with pytest.raises(ValueError, match="body 'rod': the principal moments of inertia must be positive"):
        m.body("rod", 1.0, (1, 1, 0))
    m.body("plate", 1.0, (1, 2, 3), omega=(0.3, -0.2, 1))
    runs = {"directors": kr.BEM(), "SE3": kr.RATTLie()}
    sol, other = (kr.simulate(m.system(c), until=1, step=0.01, method=method) for c, method in runs.items())
    assert sol.success
    assert_allclose(sol.rotation("plate")[-1], other.rotation("plate")[-1], atol=1e-4)


def test_operators():
    """dp/dg and the virtual rotation, against the motion of a point and the angular velocity."""
    R, x, W, u, g, v = moving_frame()
    r = rng.standard_normal(3)
    assert_allclose(kr.natural.point_matrix(r) @ g, x + R @ r, atol=1e-14)
    assert_allclose(kr.natural.point_matrix(r) @ v, u + R @ np.cross(W, r), atol=1e-14)
    assert_allclose(kr.natural.rotation_operator(g) @ v, W, atol=1e-14)
    F, M = rng.standard_normal((2, 3))
    power = F @ (u + R @ np.cross(W, r)) + M @ W
    assert kr.natural.generalised_force(g, F, r, M) @ v == pytest.approx(power, rel=1e-13)


def test_quadratic_form():
    H, l, c = kr.natural.quadratic(lambda q: ca.vertcat(q[0] * q[1] + 2 * q[2] ** 2 - 3, q[1] - 5), 3)
    x = rng.standard_normal(3)
    assert_allclose(np.einsum("kij,i,j->k", H, x, x) / 2 + l @ x + c, [x[0] * x[1] + 2 * x[2] ** 2 - 3, x[1] - 5], atol=1e-14)
    assert_allclose(H, H.transpose(0, 2, 1))
    with pytest.raises(ValueError, match="row 1 is no quadratic function"):
        kr.natural.quadratic(lambda q: ca.vertcat(q[0], q[0] ** 3), 1)


@pytest.mark.parametrize(
    "joint",
    [
        kr.Spherical("a", "b", (0.3, 0, 0)),
        kr.Revolute("a", "b", (0.3, 0, 0), (1, 2, 3)),
        kr.Prismatic("a", "b", (0.3, 0, 0), (1, 2, 3)),
        kr.Cylindrical("a", "b", (0.3, 0, 0), (1, 2, 3)),
        kr.Universal("a", "b", (0.3, 0, 0), (1, 2, 0), (2, -1, 0)),
        kr.Planar("a", "b", (0.3, 0, 0), (1, 2, 3)),
        kr.Fixed("a", "b"),
        kr.Distance("a", "b", (0, 0.1, 0)),
    ],
    ids=lambda j: j.kind,
)
def test_joints_are_quadratic_and_independent_of_the_directors(joint):
    """At most quadratic; and with the orthonormality of both bodies of full rank, whatever the axis."""
    m = kr.Mechanism()
    m.body("a", 1.0, (1, 1, 1))
    m.body("b", 1.0, (1, 1, 1), position=(1, 0, 0), rotation=kr.SO3.exp([0.3, 0.2, 0.1]).reshape(3, 3))
    m.joint(joint)
    system = m.system("directors")
    nodes, at = system.nodes, {"a": 0, "b": 12}

    def rows(q):
        out = []
        for e in system.elements:
            if e.constraint is not None:
                p = kr.mechanics.system.SimpleNamespace(**{k: ca.SX(v) for k, v in (e.parameters | e.memory).items()})
                out.append(
                    e.constraint(p, ca.SX(0), *(nodes[system.number[b]].frame(q[at[b] : at[b] + 12], ca.SX.zeros(12)) for b in e.bodies))
                )
        return ca.vertcat(*out)

    H, l, c = kr.natural.quadratic(rows, 24)
    q = np.concatenate([n.q for n in nodes])
    assert_allclose(np.einsum("kij,i,j->k", H, q, q) / 2 + l @ q + c, 0, atol=1e-14)
    G = np.einsum("kij,j->ki", H, q) + l
    assert np.linalg.matrix_rank(G) == len(G) == 12 + system.rows[0 if system.rows[0] else 1]


def test_free_body_accelerations_are_those_of_newton_and_euler():
    """Müller, E6: random body, state, force and moment."""
    _, _, mass, _, J = cloud()
    R, x, W, u, _, _ = moving_frame()
    F, M, at = rng.standard_normal((3, 3))
    m = kr.Mechanism()
    m.body("b", mass, J, position=x, rotation=R, omega=W, velocity=u)
    m.force(kr.Load("b", force=F, moment=M, at=at))
    sol = kr.simulate(m.system("directors"), until=1e-3, step=1e-3)
    torque = R.T @ (M + np.cross(R @ at, F))
    alpha = np.linalg.solve(J, torque - np.cross(W, J @ W))
    hat = lambda w: np.cross(np.eye(3), w)
    exact = kr.natural.coordinates(R @ (hat(alpha) + hat(W) @ hat(W)), F / mass)
    assert_allclose(sol.a[0], exact, atol=1e-12 * np.abs(exact).max())


@pytest.mark.parametrize(
    "method",
    [kr.RATTLie(), kr.SHAKELie(), kr.GeneralizedAlpha(), kr.GeneralizedAlpha(index="stabilised-2"), kr.BLieDF(2), kr.BEM()],
    ids=repr,
)
def test_every_method_runs_on_directors(method):
    """The slow top against the same in S3R3, far finer: within the error of the method, which falls with its order."""
    exact = kr.simulate(kr.models.heavy_top("S3R3", "slow"), until=0.5, step=2**-9, method=kr.Composition(order=6))
    gaps = []
    for k in (7, 8):
        sol = kr.simulate(kr.models.heavy_top("directors", "slow"), until=0.5, step=2.0**-k, method=method)
        assert sol.success
        assert sol.constraint_violation.max() < 1e-13
        gaps.append(np.abs(sol.position("top")[-1] - exact.position("top")[-1]).max())
    assert gaps[0] / gaps[1] == pytest.approx(4, rel=0.1)
    # the conversion of velocities, up to the error of the method: BLieDF(2) has 1.1e-3
    assert_allclose(sol.velocity("top", "space")[-1], exact.velocity("top", "space")[-1], atol=2e-3)
    assert_allclose(sol.velocity("top", "body")[-1], exact.velocity("top", "body")[-1], atol=2e-3)
    assert_allclose(sol.rotation_vector("top")[-1], exact.rotation_vector("top")[-1], atol=1e-3)


# In the plane


def planar(coordinates):
    """A slider-crank with a bar that hangs on the slider, a spring, friction and a torque."""
    m = kr.Mechanism(gravity=(0, -9.81), plane=True)
    m.body("crank", 1.0, 0.1, position=(0, 0.5))
    m.body("rod", 1.0, 0.2, position=(1, 0.5))
    m.body("slider", 2.0, 0.1, position=(2, 0))
    m.body("bar", 0.5, 0.05, position=(2, -0.4))
    m.joint(kr.Revolute("ground", "crank", (0, 0, 0), (0, 0, 1), name="A"))
    m.joint(kr.Revolute("crank", "rod", (0, 1, 0), (0, 0, 1), name="B"))
    m.joint(kr.Revolute("rod", "slider", (2, 0, 0), (0, 0, 1), name="C"))
    m.joint(kr.Prismatic("ground", "slider", (2, 0, 0), (1, 0, 0), friction=0.3, name="rail"))
    m.joint(kr.Revolute("slider", "bar", (2, 0, 0), (0, 0, 1), name="D"))
    m.force(kr.Spring("ground", "bar", 10.0, length=0.2, at_a=(2.5, 0, 0)))
    m.force(kr.Torque("A", history=lambda t: 2 * ca.sin(4 * t)))
    return m.system(coordinates)


def test_planar_directors():
    """Six coordinates and three conditions per body; the same motion as in space, where the loop has redundant rows."""
    system = planar("directors")
    assert (system.n_params, sum(system.rows), system.degrees_of_freedom) == (24, 12 + 5 * 2, 2)
    fine = kr.simulate(planar("SE3"), until=1, step=2**-7, method=kr.Composition(order=4))
    assert fine.stats.redundant
    for method in (kr.RATTLie(), kr.BEM()):
        gaps = []
        for k in (6, 7):
            sol = kr.simulate(system, until=1, step=2.0**-k, method=method)
            assert not sol.stats.redundant
            gaps.append(max(np.abs(sol.position(b)[-1] - fine.position(b)[-1]).max() for b in ("crank", "rod", "slider", "bar")))
        assert gaps[1] < 2e-3
        assert gaps[0] / gaps[1] == pytest.approx(4, rel=0.15)
        assert sol.joint("rail").stroke[-1] == pytest.approx(sol.position("slider")[-1, 0] - 2, abs=1e-12)
        force = sol.joint("C", "interpolated").reaction_force[50]
        assert_allclose(force, fine.joint("C").reaction_force[50], rtol=0.05, atol=0.05)


@pytest.mark.parametrize("coordinates", ["directors", "S3R3", "minimal"])
def test_points_in_the_plane(coordinates):
    """Two numbers instead of three: a body and a point on a spring and a rod move as in space."""

    def sol(plane):
        m = kr.Mechanism(gravity=(0, -9.81) if plane else (0, -9.81, 0), plane=plane)
        flat = slice(2) if plane else slice(3)
        m.body("arm", 1.0, 0.1 if plane else (0.05, 0.05, 0.1), position=np.array([0.5, 0, 0])[flat])
        m.joint(kr.Revolute("ground", "arm", at=(0, 0, 0), axis=(0, 0, 1), name="pin"))
        m.point("bob", 0.5, position=np.array([1.0, 1.0, 0])[flat], velocity=np.array([2.0, 0, 0])[flat])
        m.joint(kr.Distance("ground", "bob", at_a=(1, 0, 0), name="rod"))
        m.force(kr.Spring("arm", "bob", 20.0, 0.3, name="spring"))
        system = m.system(coordinates)
        return kr.simulate(system, 1, 2**-6, kr.BEM() if coordinates == "directors" else kr.GeneralizedAlpha())

    flat, space = sol(True), sol(False)
    assert flat.velocity("bob").shape[1] == 2
    assert np.ptp(space.position("bob"), axis=0)[:2].min() > 0.3
    assert_allclose(flat.position("bob"), space.position("bob"), atol=1e-11)
    assert_allclose(flat.velocity("bob"), space.velocity("bob")[:, :2], atol=1e-10)
    assert_allclose(flat.angular_momentum, space.angular_momentum, atol=1e-10)
    assert_allclose(flat.joint("rod").reaction_force[1:], space.joint("rod").reaction_force[1:], atol=1e-7)


def test_messages_of_the_plane():
    m = kr.Mechanism(plane=True)
    with pytest.raises(ValueError, match="leads out of the plane"):
        m.body("b", 1.0, 0.1, position=(0, 0, 1))
    with pytest.raises(ValueError, match="body 'b': in the plane, inertia, rotation and omega are one number each"):
        m.body("b", 1.0, (1, 1, 1))
    with pytest.raises(ValueError, match="leads out of the plane"):
        m.point("p", 1.0, position=(0, 0, 1))
    m.body("b", 1.0, 0.1, rotation=0.3, omega=2.0)
    m.joint(kr.Constraint("hook", "b", lambda t, b: ca.vertcat(b.x[0], b.x[2] - 1)))
    with pytest.raises(ValueError, match="'hook' cannot hold in the plane"):
        m.system("directors")
