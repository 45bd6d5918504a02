"""The recursion over the steps solves its equations; the fast solver finds minima known from elsewhere."""

from __future__ import annotations

import casadi as ca
import control_problems as problems
import numpy as np
import pytest

import kreisel as kr
from kreisel.control.outcome import Ending, Multipliers, Outcome
from kreisel.control.riccati import DONE, NOT_CONVEX, SINGULAR, Factors, Matrix, Vector
from kreisel.control.stages import Stages
from kreisel.control.structured import Structured

INF = np.inf


def dense(stages: Stages, m: Matrix) -> tuple[np.ndarray, np.ndarray]:
    """Hessian and Jacobian of all unknowns (y_0, ..., y_{N-1}, z_N), path conditions as penalties, the start left out where given."""
    s, N = stages.sizes, stages.steps
    n, rows = N * s.y + s.z, s.x + s.z
    H, J = np.zeros((n, n)), np.zeros((N * rows + s.e, n))
    for k in range(N):
        block, A = np.zeros((s.y, s.y)), np.zeros((s.rows, s.y))
        i, j = stages.hessian_pattern
        block[i, j] = block[j, i] = m.H[k]
        A[stages.jacobian_pattern] = m.J[k]
        C = A[rows:]
        at = slice(k * s.y, (k + 1) * s.y)
        H[at, at] = block + np.diag(m.diagonal[k]) + C.T @ np.diag(m.W[k]) @ C
        J[k * rows : (k + 1) * rows, at] = A[:rows]
        J[k * rows + s.x : (k + 1) * rows, (k + 1) * s.y : (k + 1) * s.y + s.z] = -np.eye(s.z)
    H[N * s.y :, N * s.y :] = m.H_end + m.e_z.T @ np.diag(m.W_end) @ m.e_z
    J[N * rows :, N * s.y :] = np.where(m.equations[:, None], m.e_z, 0.0)
    keep = np.ones(n, dtype=bool)
    keep[: s.z] = stages.free
    return H[np.ix_(keep, keep)], J[:, keep]


def system(stages: Stages, y: np.ndarray, end: np.ndarray, seed: int = 0) -> tuple[Matrix, Vector]:
    """With derivatives near a guess, random multipliers and right sides."""
    random, s, N = np.random.default_rng(seed), stages.sizes, stages.steps
    y, end = y + 0.01 * random.normal(size=y.shape), end + 0.01 * random.normal(size=end.shape)
    _, J, _, e_z = stages.derivatives(y, end)
    H, H_end = stages.hessian(y, end, 1e-3 * random.normal(size=(N, s.rows)), 1e-3 * random.normal(size=s.e))
    diagonal = np.ones_like(y)
    equations = stages.bounds.e[0] == stages.bounds.e[1]
    m = Matrix(J, H, H_end, e_z, diagonal, np.ones((N, s.c)), np.where(equations, 0.0, 1.0), equations, np.zeros(s.c, dtype=bool))
    b = Vector(stages)
    b.flat[:] = random.normal(size=b.flat.shape)
    b.y[0, : s.z] = np.where(stages.free, b.y[0, : s.z], 0.0)
    return m, b


def with_everything(**options) -> tuple[Stages, np.ndarray, np.ndarray]:
    """A pendulum with path conditions, an inequality at its end, and a start of which the rate is free."""
    z, x, u, h = ca.SX.sym("z", 2), ca.SX.sym("x"), ca.SX.sym("u"), ca.SX.sym("h")
    R = 2 * (x - z[1]) / h - (9.81 * ca.cos(z[0] + h / 2 * x) - u)
    U = ca.vertcat(z[0] + h * x, 2 * x - z[1])
    problem = problems.stages(
        z, x, u, h, R, U, h * u**2 / 2, z - ca.DM([np.pi / 2, 0]), start=np.zeros(2), horizon=3.0, steps=6, path=ca.vertcat(z[0] + u, x**2),
        path_bounds=[[-INF, -INF], [50.0, 50.0]], end_bounds=[[0, -1], [0, 1]], free=np.array([False, True]), end_cost=z[1] ** 2, **options,
    )  # fmt: skip
    return problem, *problems.constant(problem, np.zeros(1))


@pytest.mark.parametrize(
    "built", [problems.pendulum(6), problems.three_link_gc(5), with_everything()], ids=["pendulum", "three links", "everything"]
)
@pytest.mark.parametrize("weight", [None, 3.0])
def test_the_recursion_solves_the_whole_system(built, weight):
    stages, y, end = built
    m, b = system(stages, y, end)
    factors, s, N = Factors(stages), stages.sizes, stages.steps
    assert factors.factor(m) == DONE
    if weight is not None:
        assert factors.factor(m, np.full(s.e, weight)) == DONE
    x = factors.solve(b)
    rest = b - factors.times(m, x)
    for part, scale in ((rest.y, x.r), (rest.end, x.s), (rest.r, x.y), (rest.s, x.y)):
        assert np.abs(part).max(initial=0.0) < 1e-11 * np.abs(scale).max(initial=1.0)
    # And against the matrix as a whole.
    x = x + factors.solve(rest)
    H, J = dense(stages, m)
    rows = s.x + s.z
    right = b.y.copy()
    for k in range(N):
        A = np.zeros((s.rows, s.y))
        A[stages.jacobian_pattern] = m.J[k]
        right[k] += A[rows:].T @ b.r[k, rows:]
    equations = np.concatenate([b.r[:, :rows].ravel(), np.where(m.equations, b.s, 0.0)])
    keep = np.concatenate([stages.free, np.ones(N * s.y - s.z + s.z, dtype=bool)])
    a = np.concatenate([right.ravel(), b.end + m.e_z.T @ np.where(m.equations, 0.0, b.s)])[keep]
    some = np.ones(len(J), dtype=bool)
    some[N * rows :] = m.equations
    J = J[some]
    K = np.block([[H, J.T], [J, np.zeros((len(J), len(J)))]])
    mine = np.concatenate([np.concatenate([x.y.ravel(), x.end])[keep], x.r[:, :rows].ravel(), x.s[m.equations]])
    rest = K @ mine - np.concatenate([a, equations[some]])
    assert np.all(np.abs(rest) < 1e-12 * (np.abs(K) @ np.abs(mine) + 1.0))


def test_convexity_is_that_of_the_null_space_of_all_conditions():
    """The recursion refuses exactly where the Hessian, projected on the null space of all conditions, has a negative eigenvalue."""
    stages, y, end = problems.pendulum(8)
    m, _ = system(stages, y, end)
    H, J = dense(stages, m)
    _, values, V = np.linalg.svd(J)
    null = V[np.sum(values > 1e-10) :].T
    smallest = np.linalg.eigvalsh(null.T @ H @ null)[0]
    factors = Factors(stages)
    for shift, answer in ((-0.999 * smallest, DONE), (-1.001 * smallest, NOT_CONVEX)):
        moved = Matrix(m.J, m.H, m.H_end + shift * np.eye(2), m.e_z, m.diagonal + shift, m.W, m.W_end, m.equations, m.path_equations)
        factors.factor(Matrix(m.J, m.H, m.H_end, m.e_z, m.diagonal + 10.0, m.W, m.W_end, m.equations, m.path_equations))
        assert factors.factor(moved, np.full(2, 1e9)) == answer


def test_equations_without_solution_for_x_are_told_with_their_step():
    stages, y, end = problems.pendulum(5)
    m, _ = system(stages, y, end)
    m.J = m.J.copy()
    rows, columns = stages.jacobian_pattern
    m.J[3, (rows == 0) & (columns == 2)] = 0.0
    factors = Factors(stages)
    assert (factors.factor(m), factors.failed_at) == (SINGULAR, 3)


def test_dependent_conditions_of_the_end_are_found():
    """15 of the 18 conditions q_N = q_f follow from the constraints."""
    stages, y, end = problems.three_link_bem(5, guess="linear")
    m, _ = system(stages, y, end)
    factors = Factors(stages)
    assert factors.factor(m) == DONE
    assert factors.rank == 6


def check(outcome: Outcome, tolerance: float = 1e-10) -> None:
    assert outcome.ending is Ending.SOLVED, outcome.message
    assert outcome.kkt_residual <= tolerance


def test_pendulum():
    """spec/001 E9: direct, midpoint."""
    outcome = Structured().solve(*problems.pendulum(20))
    check(outcome)
    assert outcome.cost == pytest.approx(6.75814142, abs=1e-8)
    assert outcome.iterations <= 10


@pytest.mark.parametrize(("steps", "cost"), [(10, 4004528.93), (20, 3987959.42), (40, 3982816.96)])
def test_three_links_in_angles(steps, cost):
    """spec/001 E6: GC."""
    outcome = Structured().solve(*problems.three_link_gc(steps))
    check(outcome)
    assert outcome.cost == pytest.approx(cost, abs=6e-3)


def test_three_links_with_friction():
    """spec/001 E5: GC, k = 300."""
    outcome = Structured().solve(*problems.three_link_gc(20, friction=300.0))
    check(outcome)
    assert outcome.cost == pytest.approx(4724947.29, abs=6e-3)


@pytest.mark.parametrize("guess", ["constant", "linear"])
@pytest.mark.parametrize(("steps", "cost"), [(20, 3987882.0165), (40, 3982712.1254), (80, 3981447.92)])
def test_three_links_in_directors(steps, cost, guess):
    """spec/001 E6: BEM, also from the guess that stays where it starts; the number of iterations does not grow with that of steps."""
    outcome = Structured(tolerance=1e-12).solve(*problems.three_link_bem(steps, guess=guess))
    check(outcome)
    assert outcome.cost == pytest.approx(cost, abs=6e-3 if steps == 80 else 6e-5)
    assert outcome.iterations <= 15


def test_three_links_with_a_bound():
    """spec/001 E4: GC, u_3 >= 0; multipliers are zero away from the bound and have their sign at it."""
    bounds = np.array([[-INF, -INF, 0.0], [INF, INF, INF]])
    outcome = Structured().solve(*problems.three_link_gc(20, u_bounds=bounds))
    check(outcome)
    assert outcome.cost == pytest.approx(9851572.95, abs=6e-3)
    u, b = outcome.y[:, -1], outcome.multipliers.b
    assert np.all(b[:, :2] == 0)
    assert np.all(b[:, 2] <= 0)
    at = u < 1e-3
    assert 0 < at.sum() < 20
    assert np.abs(b[~at, 2]).max() < 1e-6 * np.abs(b[at, 2]).max()


def gradient_of_the_lagrangian(stages: Stages, o: Outcome) -> np.ndarray:
    """By differences of values alone: what the signs of multipliers mean."""

    def lagrangian(v: np.ndarray) -> float:
        y, end = v[: o.y.size].reshape(o.y.shape), v[o.y.size :]
        cost, rows, e = stages.values(y, end)
        n = stages.sizes
        defect = rows.copy()
        defect[:, n.x : n.x + n.z] -= np.vstack([y[1:, : n.z], end])
        m = o.multipliers
        return cost + np.sum(m.r * defect) + m.s @ e + np.sum(m.b * y[:, n.z + n.x :])

    v, steps = np.concatenate([o.y.ravel(), o.end]), 1e-6
    unit = np.eye(len(v)) * steps
    return np.array([(lagrangian(v + d) - lagrangian(v - d)) / (2 * steps) for d in unit])


def test_multipliers_have_the_signs_that_are_promised():
    stages, y, end = with_everything(u_bounds=(-4.0, 8.0))
    outcome = Structured().solve(stages, y, end)
    check(outcome)
    gradient = gradient_of_the_lagrangian(stages, outcome)
    given = np.array([True, False])  # of the start
    assert np.abs(gradient[:2][~given]).max() < 1e-6
    assert np.abs(gradient[2:]).max() < 1e-6
    assert np.abs(outcome.multipliers.b).max() > 0.1


def test_random_guesses():
    """Sines of 1.5 rad in all joints: most lead to a minimum, and none to anything that is not a number."""
    solved, random = 0, np.random.default_rng(0)
    s = np.linspace(0, 1, 21)[:, None]
    for _ in range(8):
        stages, _, _ = problems.three_link_bem(20)
        waves = np.sin(np.pi * s * np.arange(1, 4)) @ (random.normal(size=(3, 3)) * 1.5 / np.arange(1, 4)[:, None])
        straight = problems.ANGLES[0] + s * (problems.ANGLES[1] - problems.ANGLES[0])
        outcome = Structured().solve(stages, *problems.three_link_guess(stages, straight + waves))
        assert np.isfinite(outcome.y).all()
        solved += outcome.success
    assert solved >= 5


def test_accelerations_that_are_carried_from_the_start():
    """Those of generalized-alpha follow the first controls."""
    end = kr.Target({"rail": 1.0, "hinge": np.pi}, rates="rest")
    problem = kr.OptimalControl(kr.models.cart_pole(), 2.0, 20, end=end)
    ours, theirs = (problem.solve(kr.GeneralizedAlpha(0.8), solver=solver) for solver in (kr.Structured(), kr.Ipopt()))
    assert np.any(ours.discrete.stages.gain)
    assert ours.success
    assert theirs.success
    assert ours.cost == pytest.approx(theirs.cost, rel=1e-9)
    np.testing.assert_allclose(ours.solution.q, theirs.solution.q, atol=1e-6)


def test_cart_and_pole():
    """Bounded force."""
    outcome = Structured().solve(*problems.cart_pole(50))
    check(outcome)
    assert np.abs(outcome.y[:, -1]).max() <= 20.0
    free = Structured().solve(*problems.cart_pole(50, force=INF))
    check(free)
    tight = Structured().solve(*problems.cart_pole(50, force=10.0))
    check(tight)
    assert free.cost == pytest.approx(outcome.cost, rel=1e-10)  # the bound of 20 N is not reached
    assert outcome.cost < tight.cost
    assert np.abs(tight.y[:, -1]).max() == pytest.approx(10.0, abs=1e-6)


def test_warm_start_takes_few_iterations():
    stages, y, end = problems.three_link_gc(20, u_bounds=np.array([[-INF, -INF, 0.0], [INF, INF, INF]]))
    cold = Structured().solve(stages, y, end)
    warm = Structured().solve(stages, cold.y, cold.end, cold.multipliers)
    check(warm)
    assert warm.iterations <= 4 < cold.iterations
    assert warm.cost == pytest.approx(cold.cost, rel=1e-9)


def test_fixed_controls_are_left_alone():
    """With the third torque given as it is best, the minimum is the same, and the bounds pull at nothing."""
    best = Structured().solve(*problems.three_link_gc(20))
    stages, y, end = problems.three_link_gc(20)
    low, high = np.full((20, 3), -INF), np.full((20, 3), INF)
    low[:, 2] = high[:, 2] = best.y[:, -1]
    stages.bounds.u = low, high
    outcome = Structured().solve(stages, y, end)
    check(outcome)
    assert np.all(outcome.y[:, -1] == best.y[:, -1])
    assert outcome.cost == pytest.approx(best.cost, rel=1e-9)
    assert np.abs(outcome.multipliers.b).max() < 1e-6 * np.abs(best.multipliers.r).max()


def test_conditions_that_cannot_hold_are_told():
    """A torque of 1 Nm does not lift the arm: the end stands out."""
    stages, _, _ = problems.three_link_gc(20, u_bounds=(-1.0, 1.0))
    outcome = Structured().solve(stages, *problems.constant(stages, np.zeros(3)))
    assert outcome.ending is Ending.INFEASIBLE
    assert outcome.worst.kind == "e"
    assert np.isfinite(outcome.y).all()
    assert np.isfinite(outcome.kkt_residual)


def test_a_guess_that_is_no_number_is_told():
    stages, y, end = problems.pendulum(5)
    y[2, 0] = np.nan
    outcome = Structured().solve(stages, y, end)
    assert outcome.ending is Ending.NOT_FINITE


def test_interruption_keeps_the_iterate():
    def stop(iteration):
        if iteration.number == 3:
            raise KeyboardInterrupt

    stages, y, end = problems.three_link_gc(20)
    outcome = Structured().solve(stages, y, end, callback=stop)
    assert outcome.ending is Ending.INTERRUPTED
    assert outcome.iterations == 3
    rest = Structured().solve(stages, outcome.y, outcome.end, Multipliers(*vars(outcome.multipliers).values()))
    check(rest)
    assert rest.iterations < Structured().solve(stages, y, end).iterations


def test_iterations_are_limited():
    outcome = Structured(max_iterations=2).solve(*problems.three_link_gc(20))
    assert outcome.ending is Ending.ITERATION_LIMIT
    assert (outcome.iterations, len(outcome.history)) == (2, 3)


@pytest.mark.parametrize("option", [{"tolerance": 0.0}, {"max_iterations": -1}])
def test_bad_options(option):
    with pytest.raises(ValueError, match=next(iter(option))):
        Structured(**option)


def test_satellite():
    """spec/001 E7: REM, k = 0, all nine rates zero at the end; six of them depend on the controls by the discretisation alone."""
    stages, move = problems.satellite(20)
    outcome = Structured().solve(stages, *problems.satellite_guess(stages, move))
    check(outcome)
    assert outcome.cost == pytest.approx(1514753.05, abs=6e-3)
