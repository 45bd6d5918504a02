"""Optimal control with Hamiltonian systems, against numbers of spec 001, E9 to E11 (Siebert, chapter 8).

The thesis prints no numbers; these were computed apart, by minimal implementations of the same schemes. Her inputs are minus ours, which
changes neither costs, costates nor Hamiltonians.
"""

from functools import cache

import numpy as np
import pytest
from support import fitted_order

import kreisel as kr
from kreisel.control import indirect
from kreisel.studies import reproduce

GREENSPAN, GONZALEZ, AVERAGE, MIDPOINT = kr.Greenspan(), kr.Gonzalez(), kr.Gonzalez("average"), kr.Midpoint()


def pendulum(method, steps, **more):
    return indirect.solve(kr.models.mathematical_pendulum(), method, 3.0, steps, [np.pi / 2], [0.0], **more)


def particle(method, steps, **more):
    return indirect.solve(kr.models.particle(), method, np.pi, steps, [0, 0, 1.5], [0, -1, 0], **more)


@cache
def arm():
    return kr.hamiltonian_of(kr.models.three_link("minimal"))


def three_link(method, steps, **more):
    """From (pi/2, -pi/2, pi/2) to (pi/2, 0, 0); q counts from the start. The cubic path leads to her branch."""
    return indirect.solve(arm(), method, 3.0, steps, [0, np.pi / 2, -np.pi / 2], [0, 0, 0], **more)


def check(found, cost, hamiltonian, digits, direct=None, direct_range=None):
    """To the digits that are given, and what holds always: the Hamiltonian, and energy minus work, at round-off."""
    assert found.success, found.message
    assert found.cost == pytest.approx(cost, abs=0.6 * 10.0 ** -digits[0])
    np.testing.assert_allclose(found.hamiltonian, hamiltonian, rtol=0, atol=0.6 * 10.0 ** -digits[1])
    assert found.hamiltonian_spread < 1e-10 * abs(hamiltonian)
    if direct is not None:
        assert found.start.success, found.start.message
        assert found.start.cost == pytest.approx(direct, abs=0.6 * 10.0 ** -digits[0])
    if direct_range is not None:
        H = found.start.hamiltonian
        assert [H.min(), H.max()] == pytest.approx(direct_range, rel=1e-6)
    for balance in (found.solution.balance, *([found.start.solution.balance] if found.start else [])):
        size = np.abs(found.solution.energy).max() + np.abs(found.solution.work).max()
        if isinstance(found.method, kr.Midpoint):
            assert np.ptp(balance) > 1e-6 * size
        else:
            assert np.ptp(balance) < 1e-12 * size


@pytest.mark.parametrize(
    ("method", "steps", "direct", "cost", "hamiltonian"),
    [
        (GREENSPAN, 10, 7.69958690, 7.70040015, 3.28121968),
        (GREENSPAN, 20, 6.71186991, 6.71193344, 1.80480544),
        (GREENSPAN, 40, 6.50352383, 6.50352798, 1.47027908),
        (GREENSPAN, 80, 6.45346374, 6.45346401, 1.39323664),
        (GREENSPAN, 160, 6.44106657, 6.44106659, 1.37446681),
        (MIDPOINT, 10, 7.87813412, 7.87884036, 3.25587735),
        (MIDPOINT, 20, 6.75814142, 6.75821511, 1.78669641),
        (MIDPOINT, 40, 6.51521598, 6.51522119, 1.46559655),
    ],
    ids=str,
)
def test_pendulum(method, steps, direct, cost, hamiltonian):
    """E9."""
    check(pendulum(method, steps), cost, hamiltonian, (8, 8), direct)


@pytest.mark.parametrize(
    ("method", "low", "high", "drift"), [(GREENSPAN, 1.777158, 1.907619, 0), (MIDPOINT, 1.507285, 1.936897, 6.96e-2)], ids=str
)
def test_pendulum_directly(method, low, high, drift):
    """E9: the direct transcription conserves the Hamiltonian of the problem only in the limit."""
    found = pendulum(method, 20)
    H = found.start.hamiltonian
    assert [H.min(), H.max()] == pytest.approx([low, high], abs=6e-7)
    for sol in (found.solution, found.start.solution):
        assert np.ptp(sol.balance) == pytest.approx(drift, abs=2e-4 if drift else 1e-12)


def test_pendulum_in_the_limit():
    """E9, the continuous problem: J = 6.4369444389, H = 1.3682556692, l(0) = (6.5531502, 0.1384979), q_max = 2.5276."""
    coarse = pendulum(GREENSPAN, 320)
    fine = pendulum(GREENSPAN, 640, guess=coarse)

    def limit(f):
        """By extrapolation, order 2."""
        return (4 * f(fine) - f(coarse)) / 3

    def at_start(found):
        """Costates belong to the middle of the steps."""
        l = found.costates
        return (15 * l[0] - 10 * l[1] + 3 * l[2]) / 8

    assert limit(lambda r: r.cost) == pytest.approx(6.4369444389, abs=1e-7)
    assert limit(lambda r: r.hamiltonian[0]) == pytest.approx(1.3682556692, abs=1e-6)
    np.testing.assert_allclose(limit(at_start), [6.5531502, 0.1384979], atol=1e-5)
    assert fine.x[:, 0].max() == pytest.approx(2.5276, abs=1e-4)


def test_pendulum_from_random_starts():
    """E9: most of 40 random starts lead to this minimum; all lead to some, those that turn over cost more."""
    rng = np.random.default_rng(0)
    found = [pendulum(GREENSPAN, 20, guess=rng.normal(size=(21, 2)) * [2, 3]) for _ in range(40)]
    assert all(r.success and r.start.success for r in found)
    assert all(r.hamiltonian_spread < 1e-10 * abs(r.hamiltonian[0]) for r in found)
    costs = np.array([r.cost for r in found])
    best = np.abs(costs - 6.71193344) < 1e-8
    assert best.sum() >= 35
    assert costs[~best].min(initial=np.inf) > 200


@pytest.mark.parametrize(
    ("steps", "cost", "hamiltonian", "of_q", "of_p"),
    [
        (10, 0.7526709064, 0.570990689, 0.3964850961, 0.3051451018),
        (20, 0.7387879336, 0.572086130, 0.3909658852, 0.2997232530),
        (40, 0.7354173787, 0.572384774, 0.3896182663, 0.2983820852),
        (80, 0.7345810248, 0.572460942, 0.3892833438, 0.2980476973),
        (160, 0.7343723295, 0.572480078, 0.3891997367, 0.2979641570),
    ],
)
def test_particle(steps, cost, hamiltonian, of_q, of_p):
    """E10, with averages (8.58) of the costates of the third coordinate and momentum."""
    found = particle(GONZALEZ, steps)
    check(found, cost, hamiltonian, (10, 9))
    assert found.average_costates[[2, 5]] == pytest.approx([of_q, of_p], abs=0.6e-10)


def test_particle_directly():
    """E10."""
    found = particle(GONZALEZ, 20)
    check(found, 0.7387879336, 0.572086130, (10, 9), direct=0.7387848322)
    H = found.start.hamiltonian
    assert [H.min(), H.max()] == pytest.approx([0.567281, 0.576130], abs=6e-7)


@pytest.mark.parametrize(("steps", "cost", "hamiltonian"), [(20, 0.7376945042, 0.575664353), (40, 0.7351499703, 0.573281113)])
def test_particle_with_averages(steps, cost, hamiltonian):
    """(8.37) and (8.53) instead of (8.36) and (8.52) (spec 001, 3.7)."""
    check(particle(AVERAGE, steps, hessian="average"), cost, hamiltonian, (10, 9))


def test_particle_converges():
    """E10: averages of costates and the Hamiltonian of order 2, against N = 1280; each from the one before."""
    counts = 10 * 2 ** np.arange(8)
    runs, last = [], None
    for n in counts:
        last = particle(GONZALEZ, int(n), guess=last)
        check(last, last.cost, last.hamiltonian[0], (10, 9))
        runs.append([*last.average_costates[[2, 5]], last.hamiltonian[0]])
    assert last.cost == pytest.approx(0.7343038856, abs=0.6e-10)
    assert runs[-1] == pytest.approx([0.3891723138, 0.2979367502, 0.572486365], abs=6e-10)
    errors = np.abs(np.array(runs[:-1]) - runs[-1])
    for n, expected in {10: (7.31e-3, 7.21e-3, 1.50e-3), 20: (1.79e-3, 1.79e-3, 4.0e-4), 160: (2.74e-5, 2.74e-5, 6.3e-6)}.items():
        np.testing.assert_allclose(errors[counts[:-1] == n][0], expected, rtol=0.01)
    for column in errors[:6].T:
        assert fitted_order(1 / counts[:6], column) == pytest.approx(2, abs=0.05)
    # The continuous problem
    assert (4 * last.cost - 0.7343071444) / 3 == pytest.approx(0.73430279928, abs=1e-9)


@pytest.mark.parametrize(
    ("method", "steps", "cost", "hamiltonian", "direct", "direct_range"),
    [
        (GONZALEZ, 20, 4011720.9389, 655085.4796, 4013556.2366, (319776.6, 985473.2)),
        (GONZALEZ, 40, 3988023.9134, 647986.1177, 3987551.8848, (571469.2, 688444.8)),
        (GONZALEZ, 80, 3982757.4303, 647065.9994, 3982729.3311, None),
        (MIDPOINT, 20, 3992601.7558, 650965.9832, 3992301.9652, None),
        (MIDPOINT, 40, 3983907.3585, 647845.0013, 3983888.3240, None),
        (MIDPOINT, 80, 3981747.0244, 647067.4579, None, None),
    ],
    ids=str,
)
def test_three_link(method, steps, cost, hamiltonian, direct, direct_range):
    """E11."""
    found = three_link(method, steps)
    check(found, cost, hamiltonian, (4, 4), direct, direct_range)
    if steps == 40:
        drift = np.abs(found.solution.balance - found.solution.balance[0]).max()
        assert drift == pytest.approx(1.33, abs=0.01) if method == MIDPOINT else drift < 1e-11


@pytest.mark.slow
def test_three_link_in_the_limit():
    """The continuous problem of E6: J = 3981028.3252, angles (1.7335442, -1.5473947, 2.6640863) in the middle, H about 646808."""
    found, runs = None, {}
    for n in (20, 40, 80, 160, 320, 640, 1280):
        found = runs[n] = three_link(GONZALEZ, n, guess=found)
        check(found, found.cost, found.hamiltonian[0], (4, 4))
    a, b = runs[640], runs[1280]
    assert (4 * b.cost - a.cost) / 3 == pytest.approx(3981028.3252, abs=0.01)
    middle = [r.x[len(r.x) // 2, :3] + [np.pi / 2, -np.pi / 2, np.pi / 2] for r in (a, b)]
    np.testing.assert_allclose((4 * middle[1] - middle[0]) / 3, [1.7335442, -1.5473947, 2.6640863], atol=1e-6)
    assert b.hamiltonian[0] == pytest.approx(646808, abs=2)
    # Newton's method grows in proportion to the number of steps.
    assert b.solve_seconds / b.iterations < 4 * 16 * runs[80].solve_seconds / runs[80].iterations


def test_studies():
    """They give the same numbers; boundary values and parameters are options."""
    table = reproduce("siebert/pendulum", steps=[10, 20]).numbers["table"]
    assert table["method"] == ["Greenspan", "Greenspan", "Midpoint", "Midpoint"]
    assert table["cost"] == pytest.approx([7.70040015, 6.71193344, 7.87884036, 6.75821511], abs=6e-9)
    assert table["cost_direct"] == pytest.approx([7.69958690, 6.71186991, 7.87813412, 6.75814142], abs=6e-9)
    # Twice the mass: twice the torque, four times the cost
    heavy = reproduce("siebert/pendulum", steps=20, mass=2.0).numbers
    assert heavy["cost"] == pytest.approx(4 * 6.71193344, rel=1e-8)
    # Her half circle takes no effort.
    free = {"end_position": [-1, 0, 0], "end_momentum": [0, -1, 0]}
    assert reproduce("siebert/particle", steps=[80], reference=160, **free).numbers["cost"] < 1e-5
    numbers = reproduce("siebert/particle", steps=[10, 20, 40], reference=80).numbers
    assert numbers["reference"]["costate_q3"] == pytest.approx(0.3892833438, abs=6e-11)
    assert numbers["hamiltonian"] == pytest.approx([0.572384774] * 2, abs=6e-10)
    arm = reproduce("siebert/three-link-indirect", steps=[40]).numbers
    assert arm["cost"] == pytest.approx(3988023.9134, abs=6e-5)
    assert arm["direct"]["cost"] == pytest.approx(3987551.8848, abs=6e-5)


@pytest.mark.slow
def test_three_link_without_gravity():
    """The same branch without gravity (E6): J = 726761.7357 in the limit."""
    table = reproduce("siebert/three-link-indirect", steps=[80, 160], gravity=0.0).numbers["table"]
    for a, b in (table["cost"][:2], table["cost"][2:], table["cost_direct"][:2]):
        assert (4 * b - a) / 3 == pytest.approx(726761.7357, rel=1e-5)
