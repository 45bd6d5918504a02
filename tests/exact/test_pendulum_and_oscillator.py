"""The pendulum and the oscillator, against a method of order 8, many digits, and our integrators."""

import casadi as ca
import mpmath as mp
import numpy as np
import pytest
from scipy.integrate import solve_ivp

import kreisel as kr
from kreisel.exact import DampedOscillator, Pendulum

T = np.linspace(0, 10, 41)


@pytest.mark.parametrize(
    ("angle", "rate"),
    [(0.1, 0), (3.0, 0), (-4, 0.2), (0, 1.9), (0, -2.5), (1, 3), (1, -3), (-2, -5), (7, 1), (-20, 0.3), (0, 0), (1e-9, 0), (3.1, 0.01)],
)
def test_pendulum(angle, rate):
    p = Pendulum(angle, rate, frequency=1.3)
    y = solve_ivp(lambda t, y: [y[1], -(1.3**2) * np.sin(y[0])], (0, 10), [angle, rate], "DOP853", T, rtol=1e-13, atol=1e-15).y
    np.testing.assert_allclose(p.angle(T), y[0], atol=5e-11)
    np.testing.assert_allclose(p.rate(T), y[1], atol=5e-11)
    energy = p.rate(T) ** 2 / 2 - 1.69 * np.cos(p.angle(T))
    np.testing.assert_allclose(energy, rate**2 / 2 - 1.69 * np.cos(angle), atol=2e-14 * (1 + rate**2))
    if p.period < np.inf:
        turn = 0 if p.swings else np.sign(rate) * 2 * np.pi
        np.testing.assert_allclose(p.angle(T + p.period), p.angle(T) + turn, atol=5e-14 * (1 + abs(rate) + abs(angle)))


@pytest.mark.parametrize(("angle", "rate"), [(3.0, 0.0), (-2.0, -5.0), (np.pi, 1e-3)])
def test_pendulum_against_many_digits(angle, rate):
    """A method of order 8 in double precision loses what the closed form still has."""
    with mp.workdps(25):
        f = mp.odefun(lambda t, y: [y[1], -mp.sin(y[0])], 0, [mp.mpf(angle), mp.mpf(rate)], tol=mp.mpf(10) ** -17)
        exact = [float(x) for x in f(4)]
    p = Pendulum(angle, rate)
    assert float(p.angle(4.0)) == pytest.approx(exact[0], abs=2e-14)
    assert float(p.rate(4.0)) == pytest.approx(exact[1], abs=2e-14)


def test_pendulum_on_the_separatrix():
    """theta' = 2 w at the bottom: theta = 4 atan(exp(wt)) - pi."""
    p = Pendulum(0, 2.0)
    assert p.period == np.inf
    np.testing.assert_allclose(p.angle(T), 4 * np.arctan(np.exp(T)) - np.pi, atol=1e-14)
    np.testing.assert_allclose(p.rate(T), 2 / np.cosh(T), atol=1e-15)


@pytest.mark.parametrize("angle", [np.pi, -np.pi, 3 * np.pi])
def test_upright_stays(angle):
    p = Pendulum(angle)
    np.testing.assert_array_equal(p.angle([0, 5, 100]), [angle] * 3)
    np.testing.assert_array_equal(p.rate([0, 5, 100]), [0] * 3)
    assert p.period == np.inf


def test_amplitude():
    assert Pendulum(0.3).amplitude == pytest.approx(0.3, rel=1e-15)
    assert Pendulum(0, 1.0).amplitude == pytest.approx(2 * np.arcsin(0.5), rel=1e-15)
    assert Pendulum(0, 3.0).amplitude == np.inf
    assert Pendulum(1e-6).period == pytest.approx(2 * np.pi, rel=1e-12)


OSCILLATORS = {
    "undamped": {},
    "underdamped": {"damping": 0.2},
    "critically damped": {"damping": 2.0},
    "almost critically damped": {"damping": 2.0 + 1e-9},
    "overdamped": {"damping": 5.0, "mass": 2.0},
    "resonance": {"force": 1.0, "frequency": 1.0},
    "almost resonance": {"force": 1.0, "frequency": 1 + 1e-9, "phase": -np.pi / 2},
    "damped resonance": {"force": 1.0, "frequency": 1.0, "damping": 0.1},
    "two frequencies": {"force": -10.0, "frequency": 100.0, "stiffness": 0.95**2, "phase": -np.pi / 2},
    "constant force": {"force": 2.0, "damping": 2.0},
    "no spring": {"stiffness": 0.0, "damping": 0.5, "force": 1.0},
    "free": {"stiffness": 0.0, "force": 1.0},
    "unstable": {"stiffness": -1.0, "damping": -0.1},
}


@pytest.mark.parametrize("case", OSCILLATORS)
def test_oscillator(case):
    o = DampedOscillator(position=0.5, velocity=-1.0, **OSCILLATORS[case])

    def rate(t, y):
        return [y[1], (o.force * np.cos(o.frequency * t + o.phase) - o.damping * y[1] - o.stiffness * y[0]) / o.mass]

    y = solve_ivp(rate, (0, 10), [0.5, -1], "DOP853", T, rtol=1e-13, atol=1e-15).y
    np.testing.assert_allclose(o.position_at(T), y[0], atol=1e-12 * np.abs(y[0]).max())
    np.testing.assert_allclose(o.velocity_at(T), y[1], atol=1e-12 * np.abs(y[1]).max())
    np.testing.assert_allclose(o.acceleration_at(T), [rate(t, z)[1] for t, z in zip(T, y.T, strict=True)], atol=1e-11 * (1 + abs(o.force)))


def test_kinds():
    kinds = [DampedOscillator(damping=c).kind for c in (0, 1, 2, 3)]
    assert kinds == ["undamped", "underdamped", "critically damped", "overdamped"]
    # Overdamped for a long time: nothing overflows.
    assert DampedOscillator(damping=50.0, position=1.0).position_at(1e4) == pytest.approx(0, abs=1e-80)


def test_forced_oscillator_of_the_source():
    """Sadlowski 5.3, from rest: x = c1 sin t + c2 sin 100 t - (c1 + 100 c2)/0.95 sin 0.95 t; max |x| = 21.14."""
    K = 0.95**2
    c1, c2 = -1 / (K - 1), -10 / (K - 1e4)
    t = np.linspace(0, 100, 5001)
    exact = c1 * np.sin(t) + c2 * np.sin(100 * t) - (c1 + 100 * c2) / 0.95 * np.sin(0.95 * t)
    sine = {"stiffness": K, "phase": -np.pi / 2}
    x = DampedOscillator(force=-1, frequency=1, **sine).position_at(t) + DampedOscillator(force=-10, frequency=100, **sine).position_at(t)
    np.testing.assert_allclose(x, exact, atol=1e-11)
    assert np.abs(x).max() == pytest.approx(21.14, abs=0.005)


def test_our_integrators_converge_to_them():
    """Order two, for a damped oscillator and a pendulum as systems of one's own."""
    oscillator = kr.models.oscillator(mass=2.0, damping=0.3, stiffness=3.0, position=0.5, velocity=-1.0)
    pendulum = kr.System(kr.R(1), mass=[[1.0]], potential=lambda q: -ca.cos(q[0]), q=[2.0], v=[0.3])
    o = DampedOscillator(mass=2.0, damping=0.3, stiffness=3.0, position=0.5, velocity=-1.0)
    for system, exact in ((oscillator, o.position_at), (pendulum, Pendulum(2.0, 0.3).angle)):
        errors = []
        for h in (0.02, 0.01):
            sol = kr.simulate(system, until=2.0, step=h, method=kr.GeneralizedAlpha(rho_inf=0.9))
            errors.append(np.abs(sol.q[:, 0] - exact(sol.t)).max())
        assert np.log2(errors[0] / errors[1]) == pytest.approx(2, abs=0.05)
        assert errors[1] < 1e-4


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: Pendulum(frequency=0), "frequency must be a positive number, got 0"),
        (lambda: Pendulum(np.nan), "angle must be a finite number"),
        (lambda: DampedOscillator(mass=-1), "mass must be a positive number"),
        (lambda: DampedOscillator(damping=np.inf), "damping must be a finite number"),
        (lambda: DampedOscillator().position_at([0, np.nan]), "t contains nan or inf"),
    ],
)  # fmt: skip
def test_bad_input(call, words):
    with pytest.raises(ValueError, match=words):
        call()
