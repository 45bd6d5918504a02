"""Forces by plain functions, Hamiltonian systems, derivatives of steps, files."""

import casadi as ca
import numba
import numpy as np
import pytest
from support import formulations, masses

import kreisel as kr
from kreisel.simulation.newton import Newton
from kreisel.simulation.program import Program


def drag(t, q, v):
    f = -0.7 * v
    f[4] += np.sin(3 * t)
    return f


def falling(force):
    m = kr.Mechanism(gravity=(0, 0, -9.81))
    m.body("body", mass=2, inertia=(1, 2, 2.5), omega=(1, 2, 3), velocity=(1, 0, 0))
    m.force(force)
    return m.system("S3R3")


@pytest.mark.parametrize("method", [kr.RATTLie(), kr.GeneralizedAlpha()], ids=str)
@pytest.mark.parametrize("function", [drag, numba.njit(drag)], ids=["Python", "Numba"])
def test_a_plain_function_does_what_the_formula_does(method, function):
    formula = kr.Force("drag", "body", lambda t, b, u: -0.7 * ca.dot(b.v, u.v) + ca.sin(3 * t) * u.v[4])
    runs = [kr.simulate(falling(f), 1, 0.01, method) for f in (formula, kr.BlackBox("drag", "body", function))]
    assert all(s.success for s in runs)
    np.testing.assert_allclose(runs[1].q, runs[0].q, atol=1e-10)


def test_what_a_plain_function_does_wrong_is_told():
    late = kr.BlackBox("wind", "body", lambda t, q, v: np.full(6, np.nan) if t > 0.5 else 0 * v)
    sol = kr.simulate(falling(late), 1, 0.01)
    assert sol.status is kr.Status.NOT_FINITE
    assert "the function of 'wind', in the step from t = 0.5" in sol.message
    assert len(sol.t) == 51
    broken = kr.BlackBox("wind", "body", lambda t, q, v: {}["gust"] if t > 0.5 else 0 * v)
    assert "the function of 'wind' raised KeyError: 'gust'" in kr.simulate(falling(broken), 1, 0.01).message
    with pytest.raises(ValueError, match="'wind' is a plain function: a step with it has no derivative"):
        sol.step_matrix()


def linearised():
    methods = [
        kr.RATTLie(), kr.SHAKELie(), kr.GeneralizedAlpha(), kr.GeneralizedAlpha(0.8, "stabilised-2"), kr.BLieDF(2),
        kr.Composition(order=4), kr.A1(), kr.A2(), kr.A3(), kr.A4(), kr.Newmark(), kr.WeightedResidual(),
    ]  # fmt: skip
    for method in methods:
        for formulation in {"S3", "S3R3", "SO3xR3", "R(2)"} & set(formulations(method)):
            yield pytest.param(formulation, method, id=f"{method}-{formulation}")


@pytest.mark.parametrize(("formulation", "method"), sorted(linearised(), key=lambda p: p.id))
def test_derivative_of_a_step(formulation, method):
    """Against central differences of the driver's own step, in local coordinates."""
    system = masses() if formulation == "R(2)" else kr.models.heavy_top(formulation, "slow")
    sol = kr.simulate(system, 0.1, 0.01, method)
    A, layout = sol.step_matrix(5), sol._layout
    program = Program(layout, method.stages)
    node, places = layout.system.nodes[0], layout.nodes[0]
    G, at = node.group, places["q"]
    end = at + G.n_params

    def step(S):
        full = np.concatenate([S, layout.parameter_values, np.zeros(program.size - layout.size)])
        hs = 0.01 * np.array(method.substeps())
        ts = S[1] + np.concatenate([[0.0], np.cumsum(hs)])
        assert program.run(full, hs, ts, 0, len(hs), program.tolerances(1e-15, 1e-15), Newton().options(), program.memory()) == 0
        return full[: layout.n_state]

    start = sol._records[5]
    base = step(start)
    F = np.zeros_like(A)
    e = 1e-6
    for j in range(A.shape[1]):
        sides = []
        for sign in (e, -e):
            S = start.copy()
            if j < G.dim:
                S[at:end] = G.retract(S[at:end], sign * np.eye(G.dim)[j])
            else:
                S[end + j - G.dim] += sign
            S = step(S)
            sides.append(np.concatenate([G.difference(base[at:end], S[at:end]), S[end:]]))
        F[:, j] = (sides[0] - sides[1]) / (2 * e)
    # Multipliers of composed steps are large, and so is the rounding of their differences.
    np.testing.assert_allclose(A, F, atol=1e-5 * np.abs(F).max() if isinstance(method, kr.Composition) else 1e-7 * np.abs(F).max())


def test_hamiltonian_pendulum():
    """The midpoint rule: order 2, bounded energy, and refused where it does not fit."""
    pendulum = kr.Hamiltonian(lambda q, p: p[0] ** 2 / 2 - ca.cos(q[0]), 1, q=[1.0])
    ends = [kr.simulate(pendulum, 2, h, kr.Midpoint()).q[-1, 0] for h in (0.1, 0.05, 0.025, 1 / 1600)]
    errors = np.abs(np.array(ends[:3]) - ends[3])
    assert np.log2(errors[:-1] / errors[1:]) == pytest.approx([2, 2], abs=0.05)
    sol = kr.simulate(pendulum, 100, 0.1, kr.Midpoint())
    late, early = (np.abs(sol.energy - sol.energy[0])[s].max() for s in (slice(500, None), slice(0, 500)))
    assert late < 1.1 * early < 2e-3
    with pytest.raises(ValueError, match="RATTLie does not fit this system: a Hamiltonian system has momenta"):
        kr.simulate(pendulum, 1, 0.1, kr.RATTLie())
    with pytest.raises(ValueError, match="Midpoint does not fit this system: it is for Hamiltonian systems"):
        kr.simulate(kr.models.oscillator(), 1, 0.1, kr.Midpoint())


def test_a_solution_survives_the_way_to_a_file(tmp_path):
    sol = kr.simulate(kr.models.rolling_disk(), 0.1, 0.01)
    sol.save(tmp_path / "disk.nc")
    data = kr.load(tmp_path / "disk.nc")
    for name, values in {
        "q": sol.q,
        "v": sol.v,
        "lam": sol.lam,
        "mu": sol.mu,
        "energy": sol.energy,
        "rotation_disk": sol.rotation("disk"),
    }.items():
        np.testing.assert_array_equal(data[name].values, values)
    np.testing.assert_array_equal(data["time"].values, sol.t)
    assert data.attrs["method"] == "RATTLie()"
    assert data.attrs["status"] == "REACHED_END"
    with pytest.raises(FileNotFoundError, match="there is no file"):
        kr.load(tmp_path / "nothing.nc")


def test_random_steps():
    h = kr.random_steps(2.0, 2**-6)
    assert h.sum() == pytest.approx(2.0, abs=1e-12)
    assert h[:-2].max() <= 2**-6
    assert h[:-2].min() >= 2**-8
    assert h[-1] == h[-2]
    with pytest.raises(ValueError, match="largest must lie in"):
        kr.random_steps(1.0, 0.5)
