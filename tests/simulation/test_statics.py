"""Equilibria, paths of equilibria and modes against closed forms; and how they fail."""

import casadi as ca
import numpy as np
import pytest

import kreisel as kr

SOFT = kr.Section(500.0, 400.0, 300.0, 1e4, 2e4, 3e4, 1.5, (1.0, 2.0, 3.0))


def test_a_pendulum_finds_its_rest():
    m = kr.Mechanism(gravity=(0, 0, -9.81))
    m.body("bob", 2.0, (0.1, 0.1, 0.1), position=(0.6, 0, -0.8))
    m.joint(kr.Spherical("ground", "bob", at_b=(-0.6, 0, 0.8), name="pivot"))
    m.force(kr.Spring("ground", "bob", 5.0, at_a=(3, 0, 0), at_b=(0.1, 0.2, 0.3), name="spring"))
    sol = kr.equilibrium(m.system(), loads=3)
    assert sol.success
    x, R = sol.position("bob")[-1], sol.rotation("bob")[-1]
    assert np.linalg.norm(x) == pytest.approx(1.0, abs=1e-12)
    # Weight and spring have no moment about the pivot.
    hook = x + R @ [0.1, 0.2, 0.3]
    weight, pull = np.array([0, 0, -2 * 9.81]), 5.0 * (np.array([3, 0, 0]) - hook)
    assert np.linalg.norm(np.cross(x, weight) + np.cross(hook, pull)) < 1e-11
    # The multiplier is the force of the bob on the ground, in axes of the bob.
    np.testing.assert_allclose(R @ sol.lam[-1], weight + pull, atol=1e-10)


def test_what_may_turn_freely_has_no_equilibrium_of_its_own():
    """A bob on a string may spin about it: the matrix is singular, and the message names it."""
    m = kr.Mechanism(gravity=(0, 0, -9.81))
    m.body("bob", 2.0, (0.1, 0.1, 0.1), position=(0.6, 0, -0.8))
    m.joint(kr.Spherical("ground", "bob", at_b=(-0.6, 0, 0.8), name="pivot"))
    sol = kr.equilibrium(m.system())
    assert sol.status is kr.Status.SINGULAR
    assert "(at 'bob')" in sol.message


def test_linear_deflection_of_a_cantilever():
    """Small loads: F L^3 / 3 EI + F L / GA, to the order of the mesh."""
    errors = []
    for M in (8, 16):
        m = kr.Mechanism()
        rod = m.beam("rod", 2.0, M, SOFT, start="clamped")
        rod.load(force=(0, 1e-4, 0), at=2.0)
        y = kr.equilibrium(m.system()).position(rod.end)[-1, 1]
        errors.append(abs(y / (1e-4 * (8 / (3 * 500.0) + 2 / 2e4)) - 1))
    assert errors[1] < 3e-3
    assert errors[0] / errors[1] == pytest.approx(4, abs=0.2)


def test_pure_bending_is_exact_on_any_mesh():
    for M in (1, 3):
        m = kr.Mechanism()
        rod = m.beam("rod", 2.0, M, SOFT, start="clamped")
        rod.load(moment=(0, 300.0, 0), at=2.0)
        end = kr.equilibrium(m.system(), loads=2).position(rod.end)[-1]
        np.testing.assert_allclose(end, kr.arc(400 / 300)(2.0)[9:], atol=1e-12)


def test_euler_buckling_shows_in_the_lowest_frequency():
    """Under the critical load the lowest frequency vanishes: pi^2 EI / 4 L^2 for a cantilever (smallest EI)."""
    m = kr.Mechanism()
    section = kr.Section(500.0, 400.0, 300.0, 1e8, 1e8, 1e8, 1.5, (1.0, 2.0, 3.0))
    rod = m.beam("rod", 2.0, 64, section, start="clamped")
    rod.load(force=(0, 0, -1.0), at=2.0)
    critical = np.pi**2 * 400 / (4 * 2.0**2)
    system = m.system()
    squares = [kr.modes(kr.equilibrium(system, loads=[p]), count=1).omega[0] for p in (0.999 * critical, 1.001 * critical)]
    assert squares[0] > 0 > squares[1]


RISE = 0.5


def truss():
    """Von Mises's truss: two bars in line, hinged on the ground, a load on the apex between them."""
    m = kr.Mechanism()
    m.point("apex", 1.0, position=(0, 0, RISE))
    for side in (-1, 1):
        m.force(kr.Spring("ground", "apex", 100.0, length=np.hypot(1, RISE), at_a=(side, 0, 0), name=f"bar {side}"))
    m.joint(kr.Constraint("guide", "apex", lambda t, a: a.x[:2]))
    m.force(kr.Load("apex", force=(0, 0, -20.0), name="load"))
    return m.system()


def load_of_truss(z):
    """The factor of the load that holds the apex at the height z, in closed form."""
    bar = np.hypot(1, z)
    return -2 * 100.0 * (bar - np.hypot(1, RISE)) * z / bar / 20.0


def test_the_path_goes_through_a_limit_point():
    """Snap-through: load over displacement, through the descending branch."""
    sol = kr.equilibrium_path(truss(), step=0.05, steps=60, until=lambda s: s.position("apex")[-1, 2] < -1.2 * RISE)
    assert sol.success
    z, factor = sol.position("apex")[:, 2], sol.t
    np.testing.assert_allclose(factor, load_of_truss(z), atol=1e-10)
    assert z[-1] < -1.2 * RISE
    assert factor.min() < -0.1  # beyond the limit point the load turns
    peak = int(np.argmax(factor[: len(factor) // 2]))
    assert np.any(np.diff(factor[peak:]) < 0)


def test_load_control_snaps_to_the_far_branch():
    """Beyond the limit point there is no equilibrium near by: Newton finds the one where the apex hangs."""
    limit = load_of_truss(np.linspace(0, RISE, 10_001)).max()
    factors = limit * np.array([0.3, 0.6, 0.9, 1.2])
    sol = kr.equilibrium(truss(), loads=factors)
    assert sol.success, sol.message
    z = sol.position("apex")[:, 2]
    np.testing.assert_allclose(load_of_truss(z), factors, atol=1e-10)
    assert np.all(z[:3] > 0)
    assert z[3] < -RISE


def test_histories_are_taken_at_a_time():
    m = kr.Mechanism()
    rod = m.beam("rod", 2.0, 4, SOFT, start="clamped")
    rod.load(force=(0, 0, 1.0), at=2.0, history=lambda t: 3 * t)
    stretch = kr.equilibrium(m.system(), time=2.0).position(rod.end)[-1, 2] - 2
    assert stretch == pytest.approx(2 * 6 / 3e4, rel=1e-9)


def test_what_hangs_loose_is_named():
    m = kr.Mechanism()
    rod = m.beam("rod", 2.0, 4, SOFT, start="pinned")
    rod.load(force=(0, 0, 1.0), at=2.0)
    sol = kr.equilibrium(m.system())
    assert sol.status is kr.Status.SINGULAR
    assert "can move without a force" in sol.message
    assert "'rod" in sol.message
    assert np.all(np.isfinite(sol.q))  # the last good state is kept


def test_failures_are_told():
    m = kr.Mechanism()
    rod = m.beam("rod", 2.0, 2, SOFT, start="clamped")
    m.force(kr.Potential("trap", rod.end, lambda a: ca.sqrt(a.x[0] - 1)))
    sol = kr.equilibrium(m.system())
    assert sol.status is kr.Status.NOT_FINITE
    with pytest.raises(ValueError, match="there is no equilibrium to find modes about"):
        kr.modes(m.system())
    with pytest.raises(ValueError, match="nonholonomic"):
        kr.equilibrium(kr.models.rolling_disk())
    with pytest.raises(ValueError, match="loads must be"):
        kr.equilibrium(kr.models.roll_up(), loads=[])
    with pytest.raises(ValueError, match="step must not be zero"):
        kr.equilibrium_path(kr.models.roll_up(), step=0.0)
    with pytest.raises(TypeError, match="modes are about an equilibrium"):
        kr.modes(kr.simulate(kr.models.roll_up(), until=0.01, step=0.01))


def test_modes_of_masses_and_springs():
    """Two points on a line: the eigenvalues of the 2 x 2 problem; constraints take the other directions away."""
    m = kr.Mechanism()
    for name, mass, x in (("a", 2.0, 1.0), ("b", 1.0, 2.0)):
        m.point(name, mass, position=(x, 0, 0))
        m.joint(kr.Constraint(f"rail of {name}", name, lambda t, p: p.x[1:]))
    m.force(kr.Spring("ground", "a", 30.0, length=1.0))
    m.force(kr.Spring("a", "b", 20.0, length=1.0))
    found = kr.modes(m.system(), count=5)
    K, M = np.array([[50.0, -20], [-20, 20]]), np.diag([2.0, 1.0])
    np.testing.assert_allclose(found.omega**2, np.sort(np.linalg.eigvals(np.linalg.solve(M, K)).real), rtol=1e-9)
    shapes = np.concatenate([found.shape("a")[:, :1], found.shape("b")[:, :1]], axis=1)
    np.testing.assert_allclose(shapes @ M @ shapes.T, np.eye(2), atol=1e-9)


def test_dense_and_sparse_modes_agree():
    def about(M):
        m = kr.Mechanism()
        m.beam("rod", 2.0, M, SOFT, start="clamped", variant="kirchhoff")
        return m.system()

    from kreisel.simulation import eigenmodes as module

    small = kr.modes(about(24), count=4).omega
    old, module.DENSE = module.DENSE, 10
    try:
        np.testing.assert_allclose(kr.modes(about(24), count=4).omega, small, rtol=1e-8)
    finally:
        module.DENSE = old


def test_a_free_beam_has_six_rigid_motions():
    m = kr.Mechanism()
    m.beam("rod", 2.0, 60, SOFT)
    omega = kr.modes(m.system(), count=8).omega
    assert np.abs(omega[:6]).max() < 1e-3 * omega[6]


def test_modes_take_histories_at_the_time_of_the_equilibrium():
    """A following load has a stiffness of its own, which grows with its history."""

    def lowest(time):
        m = kr.Mechanism()
        rod = m.beam("rod", 2.0, 16, SOFT, start="clamped")
        rod.load(force=(0, 0, -200.0), at=2.0, axes="body", history=lambda t: t)
        return kr.modes(kr.equilibrium(m.system(), time=time), count=3).omega

    def constant(load):
        m = kr.Mechanism()
        rod = m.beam("rod", 2.0, 16, SOFT, start="clamped")
        rod.load(force=(0, 0, -load), at=2.0, axes="body")
        return kr.modes(m.system(), count=3).omega

    np.testing.assert_allclose(lowest(1.5), constant(300.0), rtol=1e-9)
    assert np.abs(lowest(1.5) / lowest(0.0) - 1).max() > 0.01
