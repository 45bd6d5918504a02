"""Siebert's top in steady precession, by quaternions (spec 001, E3; the figures of the thesis are lost, the numbers are those of an
independent computation for the digest)."""

import numpy as np
import pytest
from verification.published import agrees, check

import kreisel as kr


def cone(coordinates):
    """A cone on its tip: height 0.1 m, radius 0.05 m, 2700 kg/m^3, at 60 degrees, precessing at 10 rad/s (spec 001, section 4)."""
    mass, l, angle, precession = 0.70685835, 0.075, np.pi / 3, 10.0
    mass = 2700 * np.pi * 0.05**2 * 0.1 / 3
    J3, central = 0.3 * mass * 0.05**2, 3 * mass / 80 * (4 * 0.05**2 + 0.1**2)
    J1 = central + mass * l**2
    spin = mass * 9.81 * l / (J3 * precession) + (J1 - J3) / J3 * precession * np.cos(angle)
    R = kr.SO3.exp([angle, 0, 0]).reshape(3, 3)
    X, W = np.array([0, 0, l]), R.T @ [0, 0, precession] + [0, 0, spin]
    m = kr.Mechanism(gravity=(0, 0, -9.81))
    m.body("top", mass, (central, central, J3), position=R @ X, rotation=R, omega=W, velocity=R @ np.cross(W, X))
    m.joint(kr.Spherical("ground", "top", at_b=-X, name="tip"))
    return m.system(coordinates)


def error(sol):
    assert sol.success, sol.message
    a, w = np.pi / 3, 10.0
    exact = 0.075 * np.array([np.sin(a) * np.sin(w), -np.sin(a) * np.cos(w), np.cos(a)])
    return np.linalg.norm(sol.position("top")[-1] - exact) / 0.075


@pytest.mark.parametrize("form", ["saddle", "reduced"])
def test_errors_of_the_quaternion_scheme(form):
    runs = [kr.simulate(cone("quaternions"), 1, h, kr.QuaternionEM(form)) for h in (0.01, 0.005, 0.0025, 0.001)]
    check([error(sol) for sol in runs], "1.519 0.41545 0.10283 1.6359e-2")
    for sol in runs:
        assert agrees(sol.energy[0], "5.66905519")
        assert agrees(sol.angular_momentum[0, 2], "0.07106577")
        assert np.ptp(sol.energy) < 1e-11
        assert np.ptp(sol.angular_momentum[:, 2]) < 1e-13


def test_directors_are_more_accurate():
    runs = [kr.simulate(cone("directors"), 1, h, kr.BEM()) for h in (0.01, 0.005, 0.0025, 0.001)]
    check([error(sol) for sol in runs], "7.9621e-2 2.0848e-2 5.2781e-3 8.464e-4")
