"""Siebert's thesis: satellite and top. Its figures are lost; the numbers are those of an independent computation for the digest
(spec 001, E1 to E3)."""

import numpy as np
import pytest
from verification.published import agrees, check

from kreisel.studies import reproduce


def test_satellite_with_torques():
    numbers = reproduce("siebert/satellite-forward").numbers
    table = numbers["table"]
    assert table["N"] == [5, 10, 20, 40, 80, 160]
    check(table["T_end"], "7595.488 7760.149 7829.854 7835.764 7836.156 7836.181")
    check(table["T_end_covariant"], "3102.873 4926.066 6584.528 7443.335 7730.825 7809.346")
    check([J[2] for J in table["J_end_covariant"]], "306.78 190.48 81.22 25.33 6.777 1.725")
    assert agrees(numbers["T_exact"], "7836.182883")
    # to round-off at every step size, in parts of the largest momentum of a body and of the energy
    assert max(table["J_drift"]) < 1e-14
    assert max(table["balance_drift"]) < 1e-14


def test_satellite_with_friction():
    numbers = reproduce("siebert/satellite-friction").numbers
    table = numbers["table"]
    assert agrees(numbers["T_start"], "2207.012809")
    check(numbers["J_start"], "757.28951 1116.56896 1336.68857")
    check(table["T_end"], "913.3845 849.0860 841.4299 840.3301 840.1765 840.1479")
    check(table["T_end_covariant"], "1813.518 1069.926 886.981 851.374 842.917 840.832")
    check([J[2] for J in table["J_end_covariant"]], "1508.43 1466.13 1376.32 1346.92 1339.27 1337.33")
    assert agrees(numbers["T_exact"], "840.139248")
    assert max(table["J_drift"]) < 1e-14
    assert max(table["balance_drift"]) < 1e-14


def test_top_in_steady_precession():
    """Errors of the director scheme; ours has the centre of mass among its coordinates, which changes nothing: the pivot is linear."""
    numbers = reproduce("siebert/gyro-top").numbers
    table = numbers["table"]
    check(table["error"], "7.9621e-2 2.0848e-2 5.2781e-3 8.464e-4")
    assert agrees(numbers["energy_start"], "5.66905519")
    assert agrees(numbers["J3"], "0.07106577")
    assert max(table["energy_drift"]) < 1e-14
    assert max(table["J3_drift"]) < 1e-13
    assert numbers["order"] == pytest.approx(2, abs=0.05)


def test_locked_inertia_of_the_satellite():
    """About its centre of mass (spec 001, section 4), from positions, masses and moments of the model."""
    from kreisel.models.satellite import EULER, MASS, OFFSETS, ROTOR_EULER, ROTOR_MASS

    bodies = [(MASS, np.zeros(3), sum(EULER) - np.array(EULER))]
    for i in range(3):
        E = np.full(3, ROTOR_EULER[1])
        E[i] = ROTOR_EULER[0]
        bodies.append((ROTOR_MASS, OFFSETS[i] * np.eye(3)[i], E.sum() - E))
    centre = sum(m * x for m, x, _ in bodies) / sum(m for m, _, _ in bodies)
    J = sum(np.diag(j) + m * ((x - centre) @ (x - centre) * np.eye(3) - np.outer(x - centre, x - centre)) for m, x, j in bodies)
    check(J[np.triu_indices(3)], "2404.7911 90.4933 114.6225 2043.8421 156.2977 1561.5297")
    assert agrees(bodies[1][2][0], "212.0576")
