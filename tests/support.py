"""What several test files need: the lists of groups and methods, random elements and velocities, the exact motion of the heavy top."""

import importlib.util
from pathlib import Path

import casadi as ca
import numpy as np
from hypothesis import strategies as st
from scipy.integrate import solve_ivp

import kreisel as kr
from kreisel.groups import S3, S3R3, SE3, SO3, UDQ, R
from kreisel.methods import (
    A1,
    A2,
    A3,
    A4,
    GC,
    Baumgarte,
    BLieDF,
    Composition,
    GeneralizedAlpha,
    Newmark,
    Projection,
    RATTLie,
    SHAKELie,
    WeightedResidual,
)
from kreisel.rotations import (
    AxisAngle,
    Cayley,
    DirectionCosines,
    EulerAngles,
    EulerParameters,
    Kardan,
    RotationMatrix,
    RotationVector,
    SixNumbers,
    Stereographic,
)


def example(name):
    """A file of examples/ as a module."""
    path = Path(__file__).parents[1] / "examples" / f"{name}.py"
    spec = importlib.util.spec_from_file_location(f"example_{name}", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


#: Appending a group here is how it gets its tests.
ALL_GROUPS = [R(1), R(3), SO3, S3, SE3, S3R3, UDQ, SO3 * R(3), S3 * R(3), SE3 * SO3 * R(4), S3 * (R(2) * S3R3), example("galilei").GALILEI]

#: Appending a parametrisation here is how it gets its tests.
ALL_PARAMETRISATIONS = [
    RotationMatrix,
    DirectionCosines,
    SixNumbers,
    Stereographic(),
    Stereographic(pole=(1, 2, -0.5, 0.3, 0.2, 1)),
    EulerParameters,
    RotationVector,
    Cayley,
    AxisAngle,
    EulerAngles("zxz"),
    EulerAngles("yxy"),
    Kardan,
    EulerAngles("zyx"),
]

_component = st.floats(-1, 1, allow_subnormal=False)


@st.composite
def vectors(draw, group, angle=3.0):
    """Velocities with any direction and a size that is log-uniform from 1e-12 to the given one; now and then zero."""
    v = np.array(draw(st.lists(_component, min_size=group.dim, max_size=group.dim)))
    size = 10 ** draw(st.floats(-12, 0)) * angle
    return v / max(1.0, np.sqrt(3) * np.abs(v).max()) * draw(st.sampled_from([size, angle, 1.0, 0.0]))


@st.composite
def elements(draw, group):
    """Elements with rotations of any angle and positions of order one."""
    return group.random(draw(st.integers(0, 2**32 - 1)))


#: Appending a method here is how it gets its tests.
ALL_METHODS = [
    RATTLie(),
    SHAKELie(),
    SHAKELie("simple"),
    GeneralizedAlpha(),
    GeneralizedAlpha(index="stabilised-2"),
    GeneralizedAlpha(corrected_start=True),
    GeneralizedAlpha(rho_inf=0.5),
    BLieDF(1),
    BLieDF(2),
    Composition(RATTLie(), order=4),
    Composition(RATTLie(), order=6),
    A1(),
    A1(0.3, 0.6),
    A2(),
    A2(0.3, 0.6),
    A3(),
    A3(0.25, 0.5),
    A3(0.3, 0.7),
    A4(),
    A4(0.5),
    Newmark(),
    Newmark(0.0),
    Newmark(0.3, 0.6),
    WeightedResidual(),
    WeightedResidual(X=0.5, V=0.75),
    Baumgarte(),
    Projection(),
    GC(),
]

#: The seven formulations of the heavy top.
FORMULATIONS = ["SO3", "S3", "SO3xR3", "S3xR3", "SE3", "S3R3", "UDQ"]


def formulations(method):
    """Where a method has its tests: the formulations of the heavy top that it does not refuse; if it refuses all, R(2)."""
    return [f for f in FORMULATIONS if not method.refuse(kr.models.heavy_top(f))] or ["R(2)"]


def home(method):
    """A system that the method fits: the heavy top with its translation, if it may be, else without, else that in R(2)."""
    found = formulations(method)
    return masses() if found == ["R(2)"] else kr.models.heavy_top("SO3xR3" if "SO3xR3" in found else found[0])


def masses():
    """Two masses, coupled, with a nonlinear spring, damping and a load: in R(2)."""
    M, K = np.array([[2.0, 0.5], [0.5, 1.0]]), np.array([[8.0, -2.0], [-2.0, 5.0]])
    return kr.System(
        kr.R(2),
        mass=M,
        potential=lambda q: (q.T @ K @ q) / 2 + q[0] ** 3 / 2 + q[1] ** 4 / 3,
        force=lambda t, q, v: ca.vertcat(ca.sin(5 * t) - v[0] / 10, -v[1] * (1 + v[1] ** 2) / 20),
        q=[0.3, -0.5],
        v=[1.0, 0.2],
    )


class Masses:
    """Their motion, to about 1e-13, from a calculation that shares nothing with the library."""

    def __init__(self, times):
        M, K = np.array([[2.0, 0.5], [0.5, 1.0]]), np.array([[8.0, -2.0], [-2.0, 5.0]])

        def rate(t, y):
            q, v = y[:2], y[2:]
            f = np.array([np.sin(5 * t) - v[0] / 10 - 1.5 * q[0] ** 2, -v[1] * (1 + v[1] ** 2) / 20 - 4 / 3 * q[1] ** 3]) - K @ q
            return np.r_[v, np.linalg.solve(M, f)]

        y = solve_ivp(rate, (0, times[-1]), [0.3, -0.5, 1.0, 0.2], method="DOP853", rtol=2.3e-14, atol=1e-15, t_eval=times).y.T
        self.t, self.q, self.v = times, y[:, :2], y[:, 2:]

    def errors(self, sol):
        """Errors in q and v, as root mean square over the components: one per common time."""
        return _gap(sol.q, self.q), _gap(sol.v, self.v)


class HeavyTop:
    """The motion of the heavy top, to about 1e-13, from a calculation that shares nothing with the library.

    The top is symmetric, so its spin s is constant, and in a frame that does not spin with it the motion is slow: with R = R' Ry(s t) and
    the angular velocity (w1, s, w3) in the axes of that frame, J1 w' = m X x R'^T g - (w1, 0, w3) x (J1 w1, J2 s, J1 w3).
    """

    mass, moments, X, gravity = 15.0, np.array([15.234375, 0.46875, 15.234375]), np.array([0.0, 1.0, 0.0]), np.array([0.0, 0.0, -9.81])

    def __init__(self, spin, times):
        w1, s, w3 = {"fast": (0.0, 150.0, -4.61538), "slow": (0.0, 1.5, -0.0461538)}[spin]
        J1, J2, _ = self.moments

        def rate(t, y):
            R, (w1, w3) = y[:9].reshape(3, 3), y[9:]
            torque = self.mass * np.cross(self.X, R.T @ self.gravity)
            W = np.array([[0, -w3, 0], [w3, 0, -w1], [0, w1, 0]])
            return np.r_[(R @ W).ravel(), (torque[0] + w3 * J2 * s) / J1, (torque[2] - w1 * J2 * s) / J1]

        y0 = np.r_[np.eye(3).ravel(), w1, w3]
        y = solve_ivp(rate, (0, times[-1]), y0, method="DOP853", rtol=2.3e-14, atol=1e-15, t_eval=times).y.T
        c, o, n = np.cos(s * times), np.zeros(len(times)), np.sin(s * times)
        turn = np.stack([c, o, n, o, o + 1, o, -n, o, c], axis=1).reshape(-1, 3, 3)
        self.t = times
        self.R = y[:, :9].reshape(-1, 3, 3) @ turn
        self.x = self.R @ self.X
        self.omega = np.einsum("nji,nj->ni", turn, np.stack([y[:, 9], o + s, y[:, 10]], axis=1))
        g = np.einsum("nji,j->ni", self.R, self.gravity)
        W, J = self.omega, self.moments
        self.acceleration = (self.mass * np.cross(self.X, g) - np.cross(W, J * W)) / J
        #: The multiplier of the pivot, in body axes (Hante, 4.1).
        self.lam = self.mass * (g - np.cross(self.acceleration, self.X) - np.cross(W, np.cross(W, self.X)))

    def errors(self, sol):
        """Errors in q (rotation and position) and v (angular velocity), as root mean square over the components: one per common time."""
        q = np.concatenate([sol.rotation("top").reshape(-1, 9), sol.position("top")], axis=1)
        exact = np.concatenate([self.R.reshape(-1, 9), self.x], axis=1)
        return _gap(q, exact), _gap(sol.velocity("top")[:, :3], self.omega)

    def multiplier_errors(self, lam):
        """The same for multipliers."""
        return _gap(lam, self.lam)


def _gap(a, b):
    """Of two tables over the same interval, each with equal steps."""
    m, n = len(a) - 1, len(b) - 1
    common = np.gcd(m, n)
    return np.sqrt(np.mean((a[:: m // common] - b[:: n // common]) ** 2, axis=1))


def fitted_order(steps, errors):
    """Slope of the straight line through log(error) over log(step), by least squares."""
    return np.polyfit(np.log(steps), np.log(errors), 1)[0]
