"""Equilibria, linearisation and root loci against closed forms, and in all coordinates."""

import numpy as np
import pytest
from scipy.optimize import linear_sum_assignment
from support import FORMULATIONS

import kreisel as kr
from kreisel.stability import equilibria, equilibrium, linearise, root_locus

J1, J3, WEIGHT = 15.234375, 0.46875, 147.15


def apart(a, b):
    cost = np.abs(np.asarray(a)[:, None] - np.asarray(b)[None])
    return cost[linear_sum_assignment(cost)].max()


def pairs(*polynomials):
    return np.concatenate([np.roots(p) for p in polynomials])


@pytest.mark.parametrize("formulation", FORMULATIONS)
def test_the_spectrum_does_not_depend_on_coordinates(formulation):
    """Klemps, Lemma 4.2.8: J11 s^2 + d s + k and twice J22 s^2 + d s + m g, from any start near by."""
    top = kr.models.extended_top(formulation, stiffness=50.0, damping=3.0, alpha=0.3, gamma=-1.2)
    found = linearise(equilibrium(top))
    assert apart(found.eigenvalues, pairs([J3, 3, 50], [J1, 3, WEIGHT], [J1, 3, WEIGHT])) < 1e-12
    assert found.stability == "asymptotically stable"
    assert found.hyperbolic
    # A shape (w, u) is an eigenvector of the motion: u = s w at rest; and the axis mode turns about the axis.
    n = top.dim
    np.testing.assert_allclose(found.shapes[:, n:], found.eigenvalues[:, None] * found.shapes[:, :n], atol=1e-12)
    axis = np.argmin(np.abs(found.eigenvalues - np.roots([J3, 3, 50])[0]))
    shape = np.abs(found.shape("top")[axis, :3])
    assert shape[1:].max() < 1e-10 * shape[0]


def upright(spin, formulation="SO3"):
    """The heavy top, standing, with a spin about its axis."""
    m = kr.Mechanism(gravity=(0, 0, -9.81))
    R = np.array([[1.0, 0, 0], [0, 0, -1], [0, 1, 0]])
    m.body("top", 15.0, (0.234375, 0.46875, 0.234375), position=(0, 0, 1), rotation=R, omega=(0, spin, 0))
    m.joint(kr.Spherical("ground", "top", at_b=(0, -1, 0), name="pivot"))
    return m.system(formulation)


@pytest.mark.parametrize("formulation", ["SO3", "SE3", "S3R3"])
def test_a_sleeping_top(formulation):
    """A steady motion: gyroscopic terms make the upright top stable from J3 spin = 2 sqrt(J1 m g l) on."""
    critical = 2 * np.sqrt(J1 * WEIGHT) / J3
    assert linearise(upright(0.99 * critical, formulation)).stability == "unstable"
    above = linearise(upright(1.01 * critical, formulation))
    assert above.stability == "undecided"  # on the imaginary axis
    # In the frame of the body the nutation has the frequencies of J1 s^2 - i J3 W s - m g in space, less the spin.
    spin = 1.01 * critical
    w = np.roots([J1, -J3 * spin, WEIGHT]).real - spin
    assert apart(np.sort(above.eigenvalues.imag)[[0, 1]], np.sort(w)) < 1e-5


def test_root_locus_finds_the_critical_spin():
    critical = 2 * np.sqrt(J1 * WEIGHT) / J3
    locus = root_locus(upright, "spin", np.linspace(0.8, 0.999, 12) * critical, steady=True)
    # The growth is a square root of the distance from the critical spin.
    slope = np.polyfit(locus.values, locus.growth**2, 1)
    assert -slope[1] / slope[0] == pytest.approx(critical, rel=1e-2)
    assert np.all(np.diff(locus.growth) < 0)


def test_root_locus_follows_each_eigenvalue_and_finds_crossings():
    """Negative damping: the oscillator becomes unstable where its damping changes sign."""
    locus = root_locus(kr.models.oscillator, "damping", np.linspace(-0.31, 0.7, 24), mass=1.0, stiffness=4.0, position=0.1)
    np.testing.assert_allclose(locus.growth, -locus.values / 2, atol=1e-12)
    np.testing.assert_allclose(locus.crossings(), [0.0], atol=1e-12)
    steps = np.abs(np.diff(locus.eigenvalues, axis=0))
    assert steps.max() < 0.03  # no jumps from one branch to the other
    with pytest.raises(ValueError, match="values must be a sequence"):
        root_locus(kr.models.oscillator, "damping", [])


def test_families_are_recognised_by_rank():
    """The plain top may be turned about its axis; two bodies on a string of ball joints have two such freedoms."""
    for f in ("SO3", "SE3", "SO3xR3"):
        found = equilibria(kr.models.extended_top(f, stiffness=0.0, damping=0.0), tries=8)
        assert [e.family for e in found] == [1, 1]
        np.testing.assert_allclose([e.energy for e in found], [-WEIGHT, WEIGHT], rtol=1e-12)
        for e in found:
            turn = np.abs(e.directions[0])
            assert turn[0] == pytest.approx(turn.max())
            assert turn[1:].max() < 1e-6 * turn[0]
    m = kr.Mechanism(gravity=(0, 0, -9.81))
    for name, z in (("upper", -0.5), ("lower", -1.5)):
        m.body(name, 1.0, (0.1, 0.1, 0.05), position=(0.0, 0, z))
    m.joint(kr.Spherical("ground", "upper", at_b=(0, 0, 0.5), name="top joint"))
    m.joint(kr.Spherical("upper", "lower", at_a=(0, 0, -0.5), at_b=(0, 0, 0.5), name="middle joint"))
    assert equilibrium(m.system("S3R3")).family == 2


def test_the_extended_top_stands_alone():
    found = equilibria(kr.models.extended_top("S3R3", stiffness=100.0, damping=1.0), tries=30, seed=3)
    assert [e.family for e in found] == [0, 0]
    assert [linearise(e).stability for e in found] == ["asymptotically stable", "unstable"]
    axes = [e.solution.rotation("top")[-1][:, 0] for e in found]
    np.testing.assert_allclose(axes, [[0, -1, 0], [0, 1, 0]], atol=1e-12)


@pytest.mark.parametrize("formulation", ["SO3", "SE3", "SO3xR3"])
def test_a_stiff_spring_leads_nowhere_else(formulation):
    """Twisted by 45 degrees against a spring of 1e5 N m: a plain Newton step would turn the top by 23 rad."""
    found = equilibrium(kr.models.extended_top(formulation, stiffness=1e5, damping=10.0))
    np.testing.assert_allclose(found.solution.rotation("top")[-1], [[0, 1, 0], [-1, 0, 0], [0, 0, 1]], atol=1e-12)


def test_an_undamped_beam_has_the_frequencies_of_its_modes():
    """Constraints on strains, a load, many nodes: the imaginary parts are the natural frequencies."""
    m = kr.Mechanism()
    rod = m.beam("rod", 2.0, 4, kr.Section(500.0, 400.0, 300.0, 1e4, 2e4, 3e4, 1.5, (1.0, 2.0, 3.0)), start="clamped", variant="kirchhoff")
    rod.load(force=(0, 20.0, -10.0), at=2.0)
    found = linearise(equilibrium(m.system()))
    omega = np.sort(found.eigenvalues.imag)[len(found.eigenvalues) // 2 :]
    np.testing.assert_allclose(omega, kr.modes(m.system(), count=100).omega, rtol=1e-7)
    assert np.abs(found.eigenvalues.real).max() < 1e-6 * omega.max()


def test_mass_that_depends_on_the_place():
    """A bead on a parabola y = x^2 / 2 as one coordinate: about the bottom x'' = -g x, whatever the mass does further out."""
    bead = kr.System(kr.R(1), mass=lambda q: 2.0 * (1 + q[0] ** 2), potential=lambda q: 2.0 * 9.81 * q[0] ** 2 / 2, q=[0.4])
    np.testing.assert_allclose(np.sort(linearise(equilibrium(bead)).eigenvalues.imag), [-np.sqrt(9.81), np.sqrt(9.81)], rtol=1e-12)


def test_nonholonomic_constraints_restrict_velocities_only():
    """A skate on a plane at rest: (x, y, angle), no motion sideways; a spring holds x and the angle, y is free."""
    skate = kr.System(
        kr.R(3),
        mass=np.diag([2.0, 2.0, 0.5]),
        potential=lambda q: 9.0 * q[0] ** 2 + 2.0 * q[2] ** 2,
        pfaffian=lambda t, q, v: v[1] - q[2] * v[0],
    )
    found = linearise(skate)
    assert len(found.eigenvalues) == 5  # three places, two velocities
    assert apart(found.eigenvalues, [3j, -3j, np.sqrt(8) * 1j, -np.sqrt(8) * 1j, 0]) < 1e-10


def test_what_cannot_be_linearised_says_why():
    with pytest.raises(ValueError, match="the state is not steady: there are accelerations of"):
        linearise(kr.models.extended_top("SE3"))
    m = kr.Mechanism()  # a plate that turns about its fixed centre in a field: steady, but not the same all along
    m.body("plate", 1.0, (1.0, 2.0, 3.0), omega=(0, 0, 1.0))
    m.joint(kr.Spherical("ground", "plate", name="pivot"))
    m.force(kr.Potential("field", "plate", lambda a: a.R[0, 2] ** 2))
    for changing in (m.system("SO3"), upright(100.0, "S3xR3")):
        with pytest.raises(ValueError, match="the equations change along the motion"):
            linearise(changing)
    with pytest.raises(ValueError, match="momenta instead of velocities"):
        linearise(kr.Hamiltonian(lambda q, p: p[0] ** 2 + q[0] ** 2, 1))
    with pytest.raises(ValueError, match="no equilibrium found from the start"):
        equilibrium(kr.System(kr.R(1), mass=[[1.0]], force=lambda t, q, v: 1.0 + 0 * v))
    m = kr.Mechanism()
    m.body("box", 1.0, (1, 1, 1))
    m.force(kr.BlackBox("push", "box", lambda t, q, v: 0 * v))
    with pytest.raises(ValueError, match="'push' is a plain function"):
        linearise(m.system())
