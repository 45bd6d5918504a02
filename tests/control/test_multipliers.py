"""How the multipliers of BEM, REM and GC belong together (Siebert, (7.12)-(7.22))."""

import casadi as ca
import numpy as np
import pytest

import kreisel as kr

REST = kr.Target({"shoulder": 0.0, "elbow": np.pi / 2, "wrist": -np.pi / 2}, rates="rest")


@pytest.fixture(scope="module")
def results():
    def solve(formulation, method):
        return kr.OptimalControl(kr.models.three_link(formulation), horizon=3.0, steps=10, end=REST).solve(method)

    return solve("directors", kr.BEM()), solve("directors", kr.REM()), solve("minimal", kr.GC())


def controls(result):
    return np.stack(list(result.controls.values()), axis=1)


def test_controls_are_costates(results):
    """u = lambda^p in minimal coordinates and with REM."""
    for result in results[1:]:
        (costates,) = result.motion_multipliers.values()
        np.testing.assert_allclose(controls(result), costates, rtol=0, atol=1e-9 * np.abs(costates).max())


def test_bem_and_rem(results):
    """lambda^p of BEM is P(q_{k+1/2}) times that of REM, (7.22); the discrete Hamiltonians are the same."""
    bem, rem, _ = results
    (tree,) = rem.discrete.system.nodes
    (reduced,) = rem.motion_multipliers.values()
    full = np.hstack([bem.motion_multipliers[body] for body in tree.carried])
    q = bem.solution.q
    middle = (q[1:] + q[:-1]) / 2
    Q, u = ca.SX.sym("q", middle.shape[1]), ca.SX.sym("u", 3)
    columns = dict(zip(tree.carried, ca.vertsplit(Q, 6), strict=True))
    moved = tree.null_space(ca.SX.zeros(3), columns, u)
    P = ca.Function("P", [Q, u], [ca.vertcat(*(moved[body] for body in tree.carried))])
    expected = np.array(P.map(len(middle))(middle.T, reduced.T)).T
    np.testing.assert_allclose(full, expected, rtol=0, atol=1e-9 * np.abs(expected).max())
    np.testing.assert_allclose(bem.hamiltonian, rem.hamiltonian, rtol=1e-9)


def test_hamiltonian_is_a_sensitivity(results):
    """Minus the sum of H_k is the derivative of the least cost by the step: found by solving with a horizon a little longer."""
    for formulation, method, result in (("minimal", kr.GC(), results[2]), ("directors", kr.REM(), results[1])):
        d = 1e-4
        costs = [
            kr.OptimalControl(kr.models.three_link(formulation), horizon=3.0 + s * d, steps=10, end=REST).solve(method).cost
            for s in (-1, 1)
        ]
        slope = (costs[1] - costs[0]) / (2 * d)
        assert slope == pytest.approx(-result.hamiltonian.mean(), rel=1e-6)
