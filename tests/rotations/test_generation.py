"""The rotation-generating equation: schemes in all parametrisations. Numbers: Sadlowski, 2.4, A.2. The tables: tests/verification."""

import numpy as np
import pytest
from support import ALL_PARAMETRISATIONS, fitted_order

from kreisel.exact import precessing_rotation, steady_rotation
from kreisel.groups import SO3
from kreisel.rotations import (
    AxisAngle,
    Cayley,
    EulerAngles,
    EulerParameters,
    ExplicitMidpoint,
    Kardan,
    PredictedTrapezoid,
    RotationMatrix,
    RotationVector,
    SixNumbers,
    Stereographic,
    Trapezoid,
    accumulated_angle,
    determinant_defect,
    generate,
    orthogonality_defect,
)

SCHEMES = [ExplicitMidpoint(), PredictedTrapezoid(), Trapezoid(), Trapezoid(sampling="ends")]
OMEGA, TURN = np.array([0.3, -0.5, 0.8]), np.array([0.2, 0.4, -0.1])
START = SO3.matrix(SO3.exp([0.3, 0.9, -0.2]))


def omega(t):
    return steady_rotation(TURN, t) @ OMEGA


def exact(t):
    return precessing_rotation(OMEGA, TURN, t) @ START


@pytest.mark.parametrize("scheme", SCHEMES, ids=str)
@pytest.mark.parametrize("p", ALL_PARAMETRISATIONS, ids=str)
def test_order_two(p, scheme):
    steps = np.array([0.1, 0.05, 0.025])
    errors = []
    for h in steps:
        run = generate(omega, 1.0, h, p, scheme, start=START)
        assert run.success
        assert run.message == "reached the end"
        errors.append(np.abs(run.rotation - exact(run.t)).max())
    assert fitted_order(steps, errors) == pytest.approx(2, abs=0.12)


@pytest.mark.parametrize("p", [EulerParameters, RotationVector, Cayley, Kardan, SixNumbers], ids=str)
def test_body_axes(p):
    """R' = R skew(W): with W = R^T omega it is the same motion."""
    run = generate(lambda t: exact(t).T @ omega(t), 1.0, 0.01, p, start=START, frame="body")
    assert np.abs(run.rotation[-1] - exact(1.0)).max() < 3e-5


@pytest.mark.parametrize("scheme", SCHEMES, ids=str)
def test_the_canonical_form_is_exact_for_constant_omega(scheme):
    """A.2: from R = I; here up to an angle of 5, past half a turn."""
    run = generate([1, 2, 2], 5 / 3, 0.1, RotationVector, scheme)
    np.testing.assert_allclose(run.rotation, steady_rotation([1, 2, 2], run.t), atol=1e-14)


def test_closed_forms_of_the_angle_per_step():
    """Constant omega. Trapezoid: 2 atan(h/2) with six, 4 atan(h/4) with four numbers; midpoint atan(h/(1-h^2/2)), 2 atan(h/2/(1-h^2/8))."""
    h = 0.5
    for p, scheme, angle in [
        (SixNumbers, Trapezoid(), 2 * np.arctan(h / 2)),
        (EulerParameters, Trapezoid(), 4 * np.arctan(h / 4)),
        (SixNumbers, ExplicitMidpoint(), np.arctan(h / (1 - h**2 / 2))),
        (EulerParameters, ExplicitMidpoint(), 2 * np.arctan(h / 2 / (1 - h**2 / 8))),
    ]:
        run = generate([0, 0, 1], h, h, p, scheme)
        R = run.rotation[1]
        turned = np.arctan2(R[1, 0] - R[0, 1], R[0, 0] + R[1, 1]) if p is SixNumbers else 2 * np.arctan2(run.x[1, 3], run.x[1, 0])
        assert turned == pytest.approx(angle, rel=1e-14)


def test_one_matrix_in_both_terms_keeps_the_rotations():
    """The trapezoidal rule is orthogonal with omega in the middle of the step, and not with those at its ends (270 degrees, h = 0.1)."""
    s = np.radians(270) / 10

    def turning(t):
        return 0, -np.sin(s * t), np.cos(s * t)

    middle = generate(turning, 10.0, 0.1, SixNumbers, Trapezoid())
    ends = generate(turning, 10.0, 0.1, SixNumbers, Trapezoid(sampling="ends"))
    assert np.abs(middle.column_product).max() < 1e-13
    assert np.abs(middle.determinant - 1).max() < 1e-13
    assert np.abs(ends.column_product).max() == pytest.approx(5e-4, rel=0.1)
    assert np.abs(ends.determinant - 1).max() == pytest.approx(1.5e-3, rel=0.05)


@pytest.mark.parametrize("alpha", [0, 0.3, 0.5, 0.8, 1])
@pytest.mark.parametrize(("p", "half"), [(RotationMatrix, 1), (SixNumbers, 1), (EulerParameters, 2)], ids=str)
def test_step_operators(p, half, alpha):
    """(2.138)-(2.147), with the corrected determinants: a power of that of a 3 x 3 matrix, and omega/2 for the four-parameter form."""
    w, h = np.array([0.3, -0.5, 0.8]), 0.7
    A = p.system_matrix(w)
    z = h * np.linalg.norm(w) / half
    pairs = {RotationMatrix: 3, SixNumbers: 2, EulerParameters: 2}[p]  # of eigenvalues +-i w
    L = ExplicitMidpoint().step_operator(A, h)
    np.testing.assert_allclose(L @ L.T, np.eye(len(A)) + h**4 / 4 * np.linalg.matrix_power(A, 4), atol=1e-15)
    assert determinant_defect(L) == pytest.approx((1 + z**4 / 4) ** pairs - 1)
    np.testing.assert_allclose(PredictedTrapezoid().step_operator(A, h), L, atol=1e-16)
    np.testing.assert_allclose(PredictedTrapezoid(alpha).step_operator(A, h), np.eye(len(A)) + h * A + alpha * h**2 * A @ A, atol=1e-15)
    L = Trapezoid(alpha).step_operator(A, h)
    assert determinant_defect(L) == pytest.approx(((1 + (1 - alpha) ** 2 * z**2) / (1 + alpha**2 * z**2)) ** pairs - 1, abs=1e-14)
    if alpha == 0.5:
        assert orthogonality_defect(L) < 1e-15
    # the operator is what a step does
    x = p.of(START)
    run = generate(w, h, h, p, Trapezoid(alpha), start=START)
    np.testing.assert_allclose(run.x[1], L @ x, atol=1e-14)
    run = generate(w, h, h, p, PredictedTrapezoid(alpha), start=START)
    np.testing.assert_allclose(run.x[1], PredictedTrapezoid(alpha).step_operator(A, h) @ x, atol=1e-14)


def test_matrix_lemma():
    """(2.142): (A^-1 + B^-1)^-1 = A (A + B)^-1 B = B (A + B)^-1 A, which makes the trapezoidal rule orthogonal."""
    A, B = np.random.default_rng(1).standard_normal((2, 4, 4)) + 3 * np.eye(4)
    inv = np.linalg.inv
    left = inv(inv(A) + inv(B))
    np.testing.assert_allclose(left, A @ inv(A + B) @ B, atol=1e-13)
    np.testing.assert_allclose(left, B @ inv(A + B) @ A, atol=1e-13)


@pytest.mark.parametrize("z", [1e-3, 0.1, 1.0, 10.0])
def test_spectral_stability(z):
    """(2.171)-(2.181): on +-i w the midpoint rule is never stable, the trapezoidal family just for alpha >= 1/2; zero is exact."""
    assert np.abs(ExplicitMidpoint().amplification(1j * z)) ** 2 == pytest.approx(1 + z**4 / 4)
    for alpha in (0, 0.3, 0.49, 0.5, 0.51, 1):
        growth = np.abs(Trapezoid(alpha).amplification(1j * z)) ** 2 - 1
        assert growth == pytest.approx((1 - 2 * alpha) * z**2 / (1 + alpha**2 * z**2), abs=1e-15)
        assert Trapezoid(alpha).is_stable(1j * z) == (alpha >= 0.5)
        assert Trapezoid(alpha).amplification(0) == 1
    assert not ExplicitMidpoint().is_stable(1j * 0.1)
    eigenvalues = np.linalg.eigvals(SixNumbers.system_matrix([0, 0, z]))
    L = Trapezoid(0.3).step_operator(SixNumbers.system_matrix([0, 0, z]), 1.0)
    both = np.sort(np.abs(np.linalg.eigvals(L))), np.sort(np.abs(Trapezoid(0.3).amplification(eigenvalues)))
    np.testing.assert_allclose(*both, rtol=1e-12)


def test_many_at_once():
    """A batch gives what each gives alone, also when it does not fill the vectors of the processor, and with starts of its own."""
    rng = np.random.default_rng(3)
    w, starts = rng.standard_normal((2, 5, 3)), SO3.matrix(SO3.exp(rng.standard_normal((5, 3)) / 2))
    for scheme in (ExplicitMidpoint(), Trapezoid()):
        both = generate(lambda t: w * (1 + t), 0.5, 0.1, Kardan, scheme, start=starts)
        assert both.x.shape == (6, 2, 5, 3)
        assert both.rotation.shape == (6, 2, 5, 3, 3)
        assert both.angle.shape == (6, 2, 5)
        for i, k in np.ndindex(2, 5):
            one = generate(lambda t: w[i, k] * (1 + t), 0.5, 0.1, Kardan, scheme, start=starts[k])  # noqa: B023
            np.testing.assert_array_equal(one.x, both.x[:, i, k])


def test_the_last_step_is_shortened():
    run = generate([0, 0, 1], 1.0, 0.3, RotationVector)
    np.testing.assert_allclose(run.t, [0, 0.3, 0.6, 0.9, 1.0])
    np.testing.assert_allclose(run.x[-1], [0, 0, 1], atol=1e-15)
    assert len(generate([0, 0, 1], 1.0, 0.1).t) == 11


def test_accumulated_angle_counts_turns():
    t = np.linspace(0, 10, 101)
    np.testing.assert_allclose(accumulated_angle(steady_rotation([0, 3, 4], t)), 5 * t, rtol=1e-13)


def test_five_numbers_run_away():
    """h = 1, T = 10, constant omega: the numbers overflow (Sadlowski's figures end before). The run ends with its good steps."""
    run = generate([0, 0, 1], 10.0, 1.0, Stereographic(), ExplicitMidpoint())
    assert not run.success
    assert run.message == "Stereographic(), ExplicitMidpoint: the numbers grew without bound in the step from t = 9 with h = 1"
    assert len(run.t) == len(run.x) == 10
    assert np.all(np.isfinite(run.x))


def test_half_a_turn_and_beyond():
    """The regularity of a run says how near it came to the singularity; a parametrisation without one stays at 1."""
    run = generate([0, 0, 1], 3.0, 0.01, Cayley)
    assert run.regularity[-1] == pytest.approx(np.cos(1.5), rel=5e-3)
    assert np.all(generate([0, 0, 1], 3.0, 0.1).regularity == 1)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: generate([0, 1], 1, 0.1), r"omega must have shape \(\.\.\., 3\), got \(2,\)"),
        (lambda: generate(lambda t: (0, 0, np.nan if t > 0.5 else 1), 1, 0.1), "omega contains nan or inf at t = 0.5"),
        (lambda: generate([0, 0, 1], -1, 0.1), "until and step must be positive"),
        (lambda: generate([0, 0, 1], 1, 0), "until and step must be positive"),
        (lambda: generate([0, 0, 1], 1, 0.1, start=2 * np.eye(3)), "is not a rotation matrix"),
        (lambda: generate([0, 0, 1], 1, 0.1, frame="sky"), "frame must be 'space' or 'body'"),
        (lambda: generate(np.ones((4, 3)), 1, 0.1, start=np.stack([np.eye(3)] * 3)), "do not fit together"),
        (lambda: generate([0, 0, 1], 1, 0.1, EulerAngles("zxz")), "cannot begin at this start: gimbal lock"),
        (lambda: generate([0, 0, 1], 1, 0.1, AxisAngle), "cannot begin at this start: without a rotation"),
        (lambda: generate([0, 0, 1], 1, 0.1, Cayley, start=np.diag([1, -1, -1.0])), "half a turn has no Cayley vector"),
        (lambda: Trapezoid(1.5), "alpha must lie between 0 and 1, got 1.5"),
        (lambda: PredictedTrapezoid(-1), "alpha must lie between 0 and 1, got -1"),
        (lambda: Trapezoid(sampling="left"), "sampling must be 'middle' or 'ends'"),
        (lambda: ExplicitMidpoint().step_operator([1, 2], 0.1), "A must be a square matrix"),
    ],
)  # fmt: skip
def test_bad_input(call, words):
    with pytest.raises(ValueError, match=words):
        call()


def test_newton_gives_up_with_a_reason():
    """An implicit step across half a turn has no solution in Cayley vectors."""
    run = generate([0, 0, 1], 10.0, 1.0, Cayley, Trapezoid())
    assert not run.success
    assert "Cayley, Trapezoid: Newton's method" in run.message
    assert "half a turn" in run.message
