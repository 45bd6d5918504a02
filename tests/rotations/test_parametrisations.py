"""What holds in every parametrisation, and what is special to each. Numbers: Sadlowski, section 2."""

import itertools

import casadi as ca
import mpmath as mp
import numpy as np
import pytest
from scipy.linalg import expm
from scipy.spatial.transform import Rotation
from support import ALL_PARAMETRISATIONS

from kreisel.groups import SO3
from kreisel.rotations import (
    AxisAngle,
    Cayley,
    DirectionCosines,
    EulerAngles,
    EulerParameters,
    Kardan,
    Parametrisation,
    RotationMatrix,
    RotationVector,
    SixNumbers,
    Stereographic,
    convert,
)

RNG = np.random.default_rng(7)
AXES = RNG.standard_normal((60, 3))
AXES /= np.linalg.norm(AXES, axis=1)[:, None]
OMEGA = RNG.standard_normal((60, 3))


def skew(a):
    return np.cross(np.eye(3), np.asarray(a)[..., None, :])


def matrices(angles):
    return SO3.matrix(SO3.exp(np.asarray(angles)[:, None] * AXES[: len(angles)]))


#: Angles of all sizes, close to 0 and to pi.
ANY = matrices(np.concatenate([np.geomspace(1e-12, 0.1, 20), np.linspace(0.2, 3, 20), np.pi - np.geomspace(1e-6, 0.1, 20)]))
#: Away from every singularity, but random.
GENERIC = matrices(np.linspace(0.3, 2.8, 60))


@pytest.fixture(params=ALL_PARAMETRISATIONS, ids=str)
def p(request):
    return request.param


def test_there_and_back(p):
    """Cayley vectors next to pi are large and lose digits in proportion; so does nothing else."""
    x = p.of(ANY)
    assert x.shape == (60, p.n_params)
    np.testing.assert_allclose(p.matrix(x), ANY, atol=4e-15)
    constraint = p.constraint(x)
    assert constraint.shape == (60, p.n_constraints)
    assert p.n_params - p.n_constraints == 3
    assert np.abs(constraint).max(initial=0) < 4e-15


def test_small_rotations_keep_their_digits():
    angle, e = 1e-12, AXES[0]
    R = SO3.matrix(SO3.exp(angle * e))
    np.testing.assert_allclose(RotationVector.of(R), angle * e, rtol=1e-15)
    np.testing.assert_allclose(Cayley.of(R), angle / 2 * e, rtol=1e-15)
    np.testing.assert_allclose(EulerParameters.of(R)[1:], angle / 2 * e, rtol=1e-15)
    np.testing.assert_allclose(AxisAngle.of(R), [*e, angle], rtol=1e-15)
    np.testing.assert_allclose(Kardan.of(R), angle * e, atol=2 * angle**2)  # to first order


def test_rate_against_the_derivative_of_the_map(p):
    """d/dt R(x(t)) = skew(omega) R with x' = rate(x, omega); in body axes R skew(W). By the exact derivative of the map."""
    x = p.of(GENERIC)
    np.testing.assert_allclose(p.omega(x, p.rate(x, OMEGA)), OMEGA, atol=1e-11)
    np.testing.assert_allclose(p.omega(x, p.rate(x, OMEGA, frame="body"), frame="body"), OMEGA, atol=1e-11)
    np.testing.assert_allclose(p.rate(x, OMEGA), p.rate(x, np.einsum("nji,nj->ni", GENERIC, OMEGA), frame="body"), atol=1e-10)


def test_rate_against_differences_of_the_inverse_map(p):
    """x of exp(t omega) R at five times: differences of order four, t = 1e-3, that is 1e-12 times a fifth derivative, plus rounding."""
    h = 1e-3
    at = p.of(GENERIC)
    regular = (p.regularity(at) > 0.4) & (np.linalg.norm(at, axis=1) < 6)
    R, w = GENERIC[regular], OMEGA[regular] / 3
    x = {k: p.of(SO3.matrix(SO3.exp(k * h * w)) @ R) for k in (-2, -1, 1, 2)}
    slope = (8 * (x[1] - x[-1]) - (x[2] - x[-2])) / (12 * h)
    gap = np.abs(slope - p.rate(at[regular], w)).max(axis=1)
    usual = gap < 1  # angles may jump to another branch
    assert usual.sum() >= 30
    assert gap[usual].max() < 1e-10


def test_the_whole_matrix_of_derivatives(p):
    """R' = skew(omega) R in all nine entries, not only in its skew part: with a derivative by CasADi."""
    x, y = ca.SX.sym("x", p.n_params), ca.SX.sym("y", p.n_params)
    f = ca.Function("f", [x, y], [ca.jtimes(ca.vec(p.matrix(x)), x, y)])
    for R, w in zip(GENERIC[:20], OMEGA[:20], strict=True):
        X = p.of(R)
        D = np.array(f(X, p.rate(X, w))).reshape(3, 3).T
        np.testing.assert_allclose(D, skew(w) @ R, atol=1e-11)


def test_compose(p):
    A, B = GENERIC, GENERIC[::-1]
    np.testing.assert_allclose(p.matrix(p.compose(p.of(A), p.of(B))), A @ B, atol=1e-13)


def test_constraints_stay_along_the_rate(p):
    x = ca.SX.sym("x", p.n_params)
    w = ca.SX.sym("w", 3)
    if p.n_constraints:
        f = ca.Function("f", [x, w], [ca.jtimes(p.constraint(x), x, p.rate(x, w))])
        for R, omega in zip(GENERIC, OMEGA, strict=True):
            assert np.abs(np.array(f(p.of(R), omega))).max() < 1e-13


@pytest.mark.parametrize(("a", "b"), list(itertools.pairwise([*ALL_PARAMETRISATIONS, ALL_PARAMETRISATIONS[0]])), ids=str)
def test_convert(a, b):
    x = convert(a.of(GENERIC), a, b)
    np.testing.assert_allclose(b.matrix(x), GENERIC, atol=1e-14)
    assert convert(np.broadcast_to(a.of(GENERIC[0]), (2, 3, a.n_params)), a, b).shape == (2, 3, b.n_params)


def test_symbols_and_arrays_are_the_same_formula(p):
    x = ca.SX.sym("x", p.n_params)
    f = ca.Function("f", [x], [p.matrix(x)])
    X = p.of(GENERIC[0])
    np.testing.assert_allclose(np.array(f(X)), p.matrix(X), atol=1e-15)


def test_linear_ones_have_a_matrix(p):
    if p.linear:
        A = p.system_matrix(OMEGA)
        x = p.of(GENERIC)
        np.testing.assert_allclose(np.einsum("nij,nj->ni", A, x), p.rate(x, OMEGA), atol=1e-14)
        np.testing.assert_allclose(A, -np.swapaxes(A, -1, -2), atol=0)
    else:
        with pytest.raises(TypeError, match="not linear"):
            p.system_matrix([1, 0, 0])


def test_eigenvalues_of_the_linear_systems():
    """(2.155)-(2.158), with the factor 1/2 of the four-parameter form: 0, +-i w, and +-i w/2."""
    w = np.linalg.norm(OMEGA[0])
    six = np.sort(np.linalg.eigvals(SixNumbers.system_matrix(OMEGA[0])).imag)
    four = np.sort(np.linalg.eigvals(EulerParameters.system_matrix(OMEGA[0])).imag)
    np.testing.assert_allclose(six, [-w, -w, 0, 0, w, w], atol=1e-14)
    np.testing.assert_allclose(four, [-w / 2, -w / 2, w / 2, w / 2], atol=1e-14)


def test_direction_cosines_are_the_transpose():
    """(2.27): the matrix of the rotation as a tensor is the transpose of that of the direction cosines c_ij = e'_i . e_j."""
    R = GENERIC[0]
    C = DirectionCosines.of(R).reshape(3, 3)
    axes = [R @ e for e in np.eye(3)]
    np.testing.assert_allclose(C, [[e_new @ e_old for e_old in np.eye(3)] for e_new in axes], atol=1e-15)
    np.testing.assert_array_equal(RotationMatrix.of(R).reshape(3, 3), C.T)


def test_series_and_powers_of_the_canonical_form():
    """(2.75): K^2n = (-1)^(n-1) phi^(2n-2) K^2, K^(2n+1) = (-1)^n phi^2n K; and R is the exponential series (2.76)."""
    psi = np.array([0.4, -1.1, 0.7])
    K, phi = skew(psi), np.linalg.norm(psi)
    for n in range(1, 6):
        np.testing.assert_allclose(np.linalg.matrix_power(K, 2 * n), (-1) ** (n - 1) * phi ** (2 * n - 2) * K @ K, atol=1e-13)
        np.testing.assert_allclose(np.linalg.matrix_power(K, 2 * n + 1), (-1) ** n * phi ** (2 * n) * K, atol=1e-13)
    np.testing.assert_allclose(RotationVector.matrix(psi), expm(K), atol=1e-15)


def test_forms_of_cayley():
    """(2.77)-(2.84) with the corrected sign of (2.82), (2.83), and the composition of half tangents (2.85)."""
    psi, theta = np.array([0.4, -1.1, 0.7]), np.array([-0.3, 0.2, 0.9])
    P, I = skew(psi), np.eye(3)
    R = Cayley.matrix(psi)
    np.testing.assert_allclose(R, (I + P) @ np.linalg.inv(I - P), atol=1e-15)
    np.testing.assert_allclose(P, (R - R.T) / (1 + np.trace(R)), atol=1e-14)
    np.testing.assert_allclose(P, (R - I) @ np.linalg.inv(R + I), atol=1e-14)
    a = np.trace(R)
    np.testing.assert_allclose(P, ((1 + a) * R - a * I - R @ R) / (1 + a), atol=1e-14)
    phi = (psi + theta - np.cross(psi, theta)) / (1 - psi @ theta)
    np.testing.assert_allclose(Cayley.compose(theta, psi), phi, atol=1e-15)
    O = skew(OMEGA[0])
    np.testing.assert_allclose(skew(Cayley.rate(psi, OMEGA[0])), (O + O @ P - P @ O - P @ O @ P) / 2, atol=1e-14)


def test_euler_parameters_and_their_squares():
    """(2.67)-(2.73)."""
    R = GENERIC[3]
    q = EulerParameters.of(R)
    assert q[0] ** 2 == pytest.approx((np.trace(R) + 1) / 4)
    np.testing.assert_allclose(q[1:] ** 2, (np.diag(R) - 2 * q[0] ** 2 + 1) / 2, atol=1e-15)
    np.testing.assert_allclose(EulerParameters.matrix(-q), EulerParameters.matrix(q), atol=0)


@pytest.mark.parametrize("axis", AXES[:10])
def test_half_a_turn(axis):
    """Quaternions, rotation vectors and axes are right at pi, up to the sign, which is positive at the largest component."""
    R = 2 * np.outer(axis, axis) - np.eye(3)
    e = axis * np.sign(axis[np.argmax(np.abs(axis))])
    np.testing.assert_allclose(EulerParameters.of(R), [0, *e], atol=1e-15)
    np.testing.assert_allclose(RotationVector.of(R), np.pi * e, atol=1e-14)
    np.testing.assert_allclose(AxisAngle.of(R), [*e, np.pi], atol=1e-14)


@pytest.mark.parametrize("sequence", [a + b + c for a, b, c in itertools.product("xyz", repeat=3) if a != b and b != c])
def test_all_twelve_sequences(sequence):
    p = EulerAngles(sequence)
    x = RNG.uniform(-3, 3, (50, 3))
    np.testing.assert_allclose(p.matrix(x), Rotation.from_euler(sequence.upper(), x).as_matrix(), atol=1e-15)
    np.testing.assert_allclose(p.of(p.matrix(x)), Rotation.from_matrix(p.matrix(x)).as_euler(sequence.upper()), atol=1e-12)


@pytest.mark.parametrize("p", [EulerAngles("zxz"), EulerAngles("xyx"), Kardan, EulerAngles("zyx"), EulerAngles("yxz")], ids=str)
def test_gimbal_lock(p):
    """At both locks, and as near as one likes, the angles give the matrix back; at the lock the third is zero."""
    locks = [-np.pi / 2, np.pi / 2] if p.is_kardan else [0, np.pi]
    for lock in locks:
        for distance in [0, 1e-15, 1e-12, 1e-8, 1e-4]:
            R = p.matrix([0.4, lock + distance, -1.1])
            x = p.of(R)
            np.testing.assert_allclose(p.matrix(x), R, atol=2e-15)
            if distance == 0:
                assert x[2] == 0
                assert p.regularity([0.4, lock, -1.1]) < 1e-15
                with pytest.raises(ValueError, match="gimbal lock"):
                    p.rate([0.4, lock, -1.1], [0, 0, 1])


def test_klemps_kardan_angles():
    """Klemps (2.30), (2.31): R = Rx(a) Ry(b) Rz(c), a = atan2(-r23, r33), b = asin(r13), c = atan2(-r12, r11)."""
    R = GENERIC
    np.testing.assert_allclose(
        Kardan.of(R),
        np.stack([np.arctan2(-R[:, 1, 2], R[:, 2, 2]), np.arcsin(R[:, 0, 2]), np.arctan2(-R[:, 0, 1], R[:, 0, 0])], axis=1),
        atol=1e-13,
    )


def test_stereographic_image():
    """(2.53), (2.59), (2.60), for a pole and a basis of one's own."""
    a = np.array([0.6, 0, 0, 0, 0.8, 0])
    V = np.linalg.svd(a[None])[2][1:]
    p = Stereographic(a, V)
    R = GENERIC[5]
    x = np.concatenate([R[:, 0], R[:, 1]]) / np.sqrt(2)
    y = p.of(R)
    np.testing.assert_allclose(y, V @ x / (1 - a @ x), atol=1e-15)
    np.testing.assert_allclose(((y @ y - 1) * a + 2 * V.T @ y) / (1 + y @ y), x, atol=1e-15)
    J1, J2 = np.diag([1, 1, 1, -1, -1, -1]), np.kron([[0, 1], [1, 0]], np.eye(3))
    for J in (J1, J2):
        s = y @ y - 1
        assert abs(s**2 * a @ J @ a + 4 * s * a @ J @ V.T @ y + 4 * y @ V @ J @ V.T @ y) < 1e-15 * (1 + y @ y) ** 2
    assert p == Stereographic(a, V)
    assert p != Stereographic(a)
    assert hash(p) == hash(Stereographic(a, V))
    np.testing.assert_allclose(p.omega(y, p.rate(y, OMEGA[0])), OMEGA[0], atol=1e-13)


@pytest.mark.parametrize("angle", [1e-10, 1e-3, 1.0, 3.0, 3.1415, 4.0, 6.0, 6.28])
def test_rate_of_the_rotation_vector_against_many_digits(angle):
    """c = (1 - phi/2 cot(phi/2)) / phi^2, in arithmetic with 40 digits."""
    psi, w = angle * AXES[0], OMEGA[0]
    with mp.workdps(40):
        phi = mp.norm([mp.mpf(float(x)) for x in psi])
        c = float((1 - phi / 2 * mp.cot(phi / 2)) / phi**2)
    exact = w - np.cross(psi, w) / 2 + c * np.cross(psi, np.cross(psi, w))
    near = 1 - angle / (2 * np.pi)  # from the pole
    np.testing.assert_allclose(RotationVector.rate(psi, w), exact, atol=3e-15 * np.abs(exact).max() / near)


BAD = [
    (lambda: EulerParameters.of(2 * np.eye(3)), r"EulerParameters.of: R is not a rotation matrix \(R\^T R = I, det R = 1\): (.|\n)*off by"),
    (lambda: Kardan.of(np.diag([1, 1, -1.0])), "EulerAngles.*R is not a rotation matrix"),
    (lambda: RotationVector.of(np.full((3, 3), np.nan)), "contains nan or inf"),
    (lambda: Cayley.of(np.diag([1, -1, -1.0])), "half a turn has no Cayley vector"),
    (lambda: Cayley.of([np.eye(3), np.diag([-1, -1, 1.0])]), r"half a turn has no Cayley vector.*at index \(1,\)"),
    (lambda: Cayley.compose([1, 0, 0], [1, 0, 0]), "there is no finite result for p = "),
    (lambda: Cayley.rate([1e13, 0, 0], [1, 0, 0]), "half a turn"),
    (lambda: convert([np.pi, 0, 0], RotationVector, Cayley), r"convert from RotationVector to Cayley: R (.|\n)*half a turn"),
    (lambda: convert([1, 1, 1, 1], EulerParameters, Cayley), "x is not a unit quaternion"),
    (lambda: RotationVector.rate([0, 0, 2 * np.pi], [1, 0, 0]), "singular at a full turn"),
    (lambda: AxisAngle.rate([0, 0, 1, 0], [1, 0, 0]), "the axis and its rate are not defined"),
    (lambda: AxisAngle.matrix([0, 0, 0, 1]), "is not a unit axis and an angle"),
    (lambda: RotationMatrix.matrix(np.diag([1, 1, -1.0]).ravel()), "is not a rotation matrix"),
    (lambda: SixNumbers.matrix([1, 0, 0, 1, 0, 0]), "is not two orthonormal vectors"),
    (lambda: EulerParameters.rate([1, 0, 0, 0], [1, 0, 0], frame="moon"), "frame must be 'space' or 'body', got 'moon'"),
    (lambda: EulerAngles("zzx"), "neighbours different, such as 'zxz'; got 'zzx'"),
    (lambda: EulerAngles("abc"), "three letters out of x, y, z"),
    (lambda: Stereographic(np.array([1, 0, 0, 0, 1, 0])), "is the image of a rotation"),
    (lambda: Stereographic(np.zeros(6)), "six finite numbers, not all zero"),
    (lambda: Stereographic(basis=np.ones((5, 6))), "five orthonormal rows"),
    (lambda: EulerParameters.matrix([1, 0, 0]), r"EulerParameters.matrix: x must have shape \(\.\.\., 4\), got \(3,\)"),
]  # fmt: skip


@pytest.mark.parametrize(("call", "words"), BAD)
def test_bad_input(call, words):
    with pytest.raises(ValueError, match=words):
        call()


def test_one_of_ones_own():
    class Modified(Parametrisation):
        """Modified Rodrigues parameters, e tan(phi/4)."""

        name, n_params, element = "Modified", 3, "a vector"

        def matrix(self, x):
            return EulerParameters.matrix(ca.vertcat(1 - ca.dot(x, x), 2 * x) / (1 + ca.dot(x, x)))

        def of(self, R):
            q = EulerParameters.of(R)
            return q[1:] / (1 + q[0])

        def space_rate(self, x, omega):
            return ((1 - ca.dot(x, x)) * omega / 2 + ca.cross(omega, x) + ca.dot(x, omega) * x) / 2

    p = Modified()
    x = p.of(GENERIC)
    np.testing.assert_allclose(p.omega(x, p.rate(x, OMEGA)), OMEGA, atol=1e-12)
    assert repr(p.of) == "<operator Modified.of(R)>"


@pytest.mark.slow
@pytest.mark.parametrize("a", ALL_PARAMETRISATIONS, ids=str)
def test_convert_between_any_two(a):
    x = a.of(GENERIC)
    for b in ALL_PARAMETRISATIONS:
        np.testing.assert_allclose(b.matrix(convert(x, a, b)), GENERIC, atol=1e-14)
