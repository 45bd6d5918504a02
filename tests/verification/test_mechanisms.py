"""Pendulums and linkages against closed forms, and the problems of the IFToMM library against published values."""

import sys

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.integrate import solve_ivp
from scipy.special import ellipk

import kreisel as kr
from kreisel.studies import reproduce


def test_iftomm_pendulum():
    numbers = reproduce("benchmark/iftomm-pendulum").numbers
    published = numbers["published"]
    assert numbers["x"] == pytest.approx(published["x"], abs=1e-11)
    assert numbers["y"] == pytest.approx(published["y"], abs=1e-11)
    # the period, 4 K(sin 45 deg) sqrt(L/g)
    assert published["period"] == pytest.approx(4 * ellipk(0.5) / np.sqrt(9.81), rel=1e-14)
    T = published["period"]
    back = kr.simulate(kr.models.pendulum(), until=T, step=T / 256, method=kr.Composition(order=6))
    assert_allclose(back.position("bob")[-1], [-1, 0, 0], atol=1e-10)


def test_iftomm_squeezer():
    numbers = reproduce("benchmark/iftomm-squeezer").numbers
    assert numbers["largest_difference"] < 2e-9
    assert numbers["max_constraint"] < 1e-14


@pytest.mark.parametrize("formulation", ["directors", pytest.param("S3R3", marks=pytest.mark.slow)])
def test_the_squeezer_by_other_means(formulation):
    """Of second order in all coordinates; in space its loops have redundant hinges."""
    gaps = []
    for steps in (600, 1200):
        sol = kr.simulate(kr.models.squeezer(formulation), until=0.006, step=0.006 / steps, method=kr.RATTLie())
        assert bool(sol.stats.redundant) == (formulation == "S3R3")
        gaps.append(sol.joint("beta").angle[-1])
    fine = kr.simulate(kr.models.squeezer(), until=0.006, step=0.006 / 200, method=kr.Composition(order=6)).joint("beta").angle[-1]
    assert abs(gaps[1] - fine) < 1e-5
    assert (gaps[0] - fine) / (gaps[1] - fine) == pytest.approx(4, rel=0.05)


def test_iftomm_n_four_bar():
    """Through six positions with three freedoms: on the same branch, energy to round-off; the angle against the equation of one freedom.

    T = (J_A (N + 1) + m L^2 N) w^2 / 2, V = m g L ((N + 1)/2 + N) sin(phi).
    """
    numbers = reproduce("benchmark/iftomm-n-four-bar").numbers
    N = 2
    a = 9.81 * ((N + 1) / 2 + N) / ((N + 1) / 3 + N)
    exact = solve_ivp(lambda t, y: [y[1], -a * np.cos(y[0])], (0, 10), [np.pi / 2, -1], rtol=1e-12, atol=1e-12).y[0, -1] - np.pi / 2
    assert numbers["angle_end"] == pytest.approx(exact, abs=1e-4)
    assert abs(numbers["turns"]) > 5
    assert numbers["energy_drift"] < 1e-11
    assert numbers["spread"] < 1e-9


@pytest.mark.slow
@pytest.mark.parametrize(("step", "drift"), [(0.01, 1e-6), (0.002, 1e-9), (0.001, 1e-9)])
def test_iftomm_n_four_bar_with_40_loops(step, drift):
    numbers = reproduce("benchmark/iftomm-n-four-bar", loops=40, step=step).numbers
    assert abs(numbers["turns"]) > 5
    assert numbers["energy_drift"] < drift  # of 1600 J
    assert numbers["spread"] < 1e-7


@pytest.mark.parametrize("method", [kr.BEM(), kr.RATTLie()], ids=str)
def test_40_loops_where_steps_end_close_to_the_flat_position(method):
    """At 0.72 s and 1.24 s. The multipliers are then known to three digits only, and Newton's method must not wait for more. These steps
    end so close to it that it did, and failed."""
    system, angles = kr.models.n_four_bar(40), []
    for steps in (627, 1230, 2413, 2625):
        sol = kr.simulate(system, until=1.3, step=1.3 / steps, method=method)
        assert sol.success, sol.message
        assert sol.constraint_violation.max() < 1e-13
        uprights = np.stack([sol.joint(f"A{k}").angle[-1] for k in (0, 20, 40)])
        assert np.ptp(uprights) < 1e-8
        angles.append(uprights[0])
        if isinstance(method, kr.BEM):
            assert np.ptp(sol.energy) < 1e-9
    assert np.ptp(angles) < 1e-4


def test_iftomm_bricard():
    """Two formulations and methods agree; the redundant row is found; the closed loop keeps all six hinges together."""
    numbers = reproduce("benchmark/iftomm-bricard", t_end=3.0).numbers
    assert len(numbers["redundant"]) == 1
    assert numbers["redundant"][0].startswith("1 of 'P")
    assert numbers["energy_drift"] < 1e-11
    assert numbers["max_constraint"] < 1e-13
    assert numbers["difference"] < 1e-3
    # it does move
    sol = kr.simulate(kr.models.bricard(), until=1.0, step=0.01, method=kr.BEM())
    assert np.ptp(sol.joint("P0").angle) > 0.3


def test_iftomm_governor():
    """BEM, generalized-alpha and IDA agree on the slider's height; energy and losses are balanced to round-off of the springs' energy."""
    numbers = reproduce("benchmark/iftomm-governor", t_end=1.0).numbers
    assert numbers["difference"] < 1e-5
    assert numbers["s_max"] - numbers["s_min"] > 1e-2
    assert numbers["balance_drift"] < 1e-9
    if numbers["difference_ida"] is None:
        pytest.skip(numbers["ida"])
    assert numbers["difference_ida"] < 1e-5


def test_iftomm_governor_without_ida(monkeypatch):
    """The study says what is missing, and goes on with the second method."""
    monkeypatch.setitem(sys.modules, "sksundae", None)
    monkeypatch.setitem(sys.modules, "sksundae.ida", None)
    numbers = reproduce("benchmark/iftomm-governor", t_end=0.05).numbers
    assert numbers["difference_ida"] is None
    assert "pip install kreisel[sundials]" in numbers["ida"]
    assert numbers["difference"] < 1e-5


@pytest.mark.parametrize("formulation", ["directors", "SE3"])
def test_brick_pendulum(formulation):
    """Period 1.145955050 s (Müller, digest E5): the closed form 4 K(sin 30 deg)/omega."""
    T = 1.145955050
    hinge = kr.simulate(kr.models.brick_pendulum(formulation), until=T, step=T / 200, method=kr.Composition(order=6)).joint("hinge")
    # the angle after the printed period: second order in its error of 5e-10
    assert abs(hinge.angle[-1]) < 1e-12
    assert abs(hinge.rate[-1]) < 50 * 5e-10
    I = 2 / 12 * (0.4**2 + 0.2**2) + 2 * 0.2**2
    assert pytest.approx(1.145955050, abs=5e-10) == 4 * ellipk(0.25) / np.sqrt(2 * 9.81 * 0.2 / I)


@pytest.mark.parametrize("formulation", ["directors", "S3R3"])
def test_four_bar(formulation):
    """Period 1.863160337 s at 30 degrees (Müller, digest E4)."""
    T = 1.863160337
    sol = kr.simulate(kr.models.four_bar(formulation), until=T, step=T / 100, method=kr.Composition(order=6))
    assert sol.success
    assert abs(sol.joint("A").angle[-1]) < 1e-11
    assert abs(sol.joint("A").rate[-1]) < 10 * 1e-9


def test_double_pendulum():
    """Against the equations in two angles."""

    def rate(t, y):
        a, b, u, v = y
        M = np.array([[4 / 3, 0.5 * np.cos(a - b)], [0.5 * np.cos(a - b), 1 / 3]])
        f = [-0.5 * np.sin(a - b) * v**2 - 1.5 * 9.81 * np.cos(a), 0.5 * np.sin(a - b) * u**2 - 0.5 * 9.81 * np.cos(b)]
        return [u, v, *np.linalg.solve(M, f)]

    a, b, u, v = solve_ivp(rate, (0, 1), [0.3, -0.2, 0, 0], rtol=1e-12, atol=1e-12, method="DOP853").y[:, -1]
    sol = kr.simulate(kr.models.double_pendulum(angles=(0.3, -0.2)), until=1, step=2**-7, method=kr.Composition(order=6))
    assert sol.joint("shoulder").angle[-1] + 0.3 == pytest.approx(a, abs=1e-8)
    assert sol.joint("shoulder").angle[-1] + sol.joint("elbow").angle[-1] - 0.2 == pytest.approx(b, abs=1e-8)
    assert sol.joint("shoulder").rate[-1] == pytest.approx(u, abs=1e-7)
    assert sol.joint("shoulder").rate[-1] + sol.joint("elbow").rate[-1] == pytest.approx(v, abs=1e-7)


def test_slider_crank():
    """Over several turns, its rod's end on the rail, energy and losses balanced; the start is consistent with a turning crank."""
    system = kr.models.slider_crank(rate=8.0, friction=0.5)
    sol = kr.simulate(system, until=2, step=0.005, method=kr.BEM(), controls={"u": 0.7})
    assert sol.success
    phi = np.pi / 4 + sol.joint("main").angle
    assert phi[-1] > 4 * np.pi
    x = 0.5 * np.cos(phi) + np.sqrt(1 - (0.5 * np.sin(phi)) ** 2)
    assert_allclose(sol.position("slider")[:, 0], x, atol=1e-12)
    assert np.abs(sol.balance - sol.balance[0]).max() < 1e-11
    with pytest.raises(ValueError, match="the rod must be longer than the crank"):
        kr.models.slider_crank(crank=1.0)


@pytest.mark.parametrize("joint", ["spherical", "revolute"])
def test_chain(joint):
    """Energy kept by BEM; the same motion on S3R3."""
    sol, other = (
        kr.simulate(kr.models.chain(3, f, joint=joint), until=0.5, step=0.0025, method=m)
        for f, m in (("directors", kr.BEM()), ("S3R3", None))
    )
    assert np.abs(sol.energy - sol.energy[0]).max() < 1e-11
    assert_allclose(sol.position("link 3")[-1], other.position("link 3")[-1], atol=2e-3)
    with pytest.raises(ValueError, match="joint must be 'spherical' or 'revolute'"):
        kr.models.chain(joint="glue")
