"""Optimal control by plain CasADi and IPOPT: the baseline of bench/control.py. Usage: python bench/control_casadi.py [starts]

Three problems, written by hand as a good user would, without Kreisel: every step is an SX expression, IPOPT gets CasADi's exact sparse
derivatives, MUMPS and its defaults (tol 1e-8). Loads of manipulator and satellite have the sign of the thesis (Siebert 2012): a positive u
takes energy out.

A problem is made from a `Guess`, which speaks of joint coordinates at the nodes only, so that another solver can start from the very same:
multipliers start at zero, redundant coordinates and velocities are those of the joint coordinates and their rates.
"""

from __future__ import annotations

import sys
import time
from itertools import pairwise
from typing import Any, NamedTuple

import casadi as ca
import numpy as np


class Guess(NamedTuple):
    """Coordinates and rates at N + 1 nodes, controls on N intervals: arrays (N + 1, n), (N + 1, n), (N, m)."""

    coordinates: np.ndarray
    rates: np.ndarray
    controls: np.ndarray


def constant(start: np.ndarray, N: int, m: int) -> Guess:
    """Stay where you are."""
    rest = np.tile(start, (N + 1, 1))
    return Guess(rest, np.zeros_like(rest), np.zeros((N, m)))


def linear(start: np.ndarray, end: np.ndarray, N: int, m: int, horizon: float) -> Guess:
    """A straight line in the coordinates, without controls."""
    path = start + np.linspace(0.0, 1.0, N + 1)[:, None] * (end - start)
    return Guess(path, np.gradient(path, horizon / N, axis=0), np.zeros((N, m)))


def perturbed(guess: Guess, horizon: float, seed: int, size: float) -> Guess:
    """Sines of one, two and three half waves added to each coordinate, of normally distributed height (deviation size, size/2, size/3)."""
    N, n = len(guess.controls), guess.coordinates.shape[1]
    height = size * np.random.default_rng(seed).standard_normal((3, n)) / np.array([[1.0], [2.0], [3.0]])
    wave, t = np.pi * np.arange(1, 4), np.linspace(0.0, 1.0, N + 1)[:, None]
    return Guess(
        guess.coordinates + np.sin(wave * t) @ height,
        guess.rates + (np.cos(wave * t) * wave / horizon) @ height,
        guess.controls,
    )


def program(cost: ca.SX, equations: list, variables: list, guess: list, read: list, bounds: dict[int, tuple] | None = None) -> dict:
    """The nonlinear program of some matrices of variables (one column per node), their guesses (one row per node) and bounds by position.

    `read` are the expressions of coordinates, rates and controls, one column per node.
    """
    x = ca.veccat(*variables)
    bounds = bounds or {}
    limits = [bounds.get(i, (-np.inf, np.inf)) for i in range(len(variables))]
    lower, upper = (
        np.concatenate([np.broadcast_to(limit[side], v.shape[::-1]).ravel() for limit, v in zip(limits, variables, strict=True)])
        for side in (0, 1)
    )
    return {
        "nlp": {"x": x, "f": cost, "g": ca.vertcat(*equations)},
        "x0": np.concatenate([np.ravel(part) for part in guess]),
        "lbx": lower,
        "ubx": upper,
        "lbg": 0.0,
        "ubg": 0.0,
        "read": ca.Function("read", [x], [ca.densify(part) for part in read]),
    }


def solve(problem: dict[str, Any], max_iter: int = 3000) -> dict[str, Any]:
    """Cost, status, iterations, coordinates, rates, controls; seconds to build, to solve, and of these in functions and derivatives."""
    options = {"ipopt.tol": 1e-8, "ipopt.linear_solver": "mumps", "ipopt.max_iter": max_iter, "ipopt.print_level": 0, "ipopt.sb": "yes"}
    start = time.perf_counter()
    solver = ca.nlpsol("solver", "ipopt", problem["nlp"], {**options, "print_time": False, "calc_lam_p": False})
    built = time.perf_counter()
    found = solver(**{name: problem[name] for name in ("x0", "lbx", "ubx", "lbg", "ubg")})
    solved = time.perf_counter()
    stats = solver.stats()
    coordinates, rates, controls = (np.array(part).T for part in problem["read"](found["x"]))
    return {
        "cost": float(found["f"]),
        "status": stats["return_status"],
        "iterations": stats["iter_count"],
        "seconds": solved - start,
        "build_seconds": built - start,
        "solve_seconds": solved - built,
        "derivative_seconds": sum(t for name, t in stats.items() if name.startswith("t_wall_nlp_")),
        "coordinates": coordinates,
        "rates": rates,
        "controls": controls,
    }


def columns(f: ca.Function, *arrays: np.ndarray) -> np.ndarray:
    """Values of f at the rows of the arrays, one row each."""
    return np.array([np.array(f(*row)).ravel() for row in zip(*arrays, strict=True)])


class ThreeLink:
    """Manipulator of three links in planar directors, BEM: 18 coordinates, 15 constraints. Thesis sections 6.2 and 7.3, Table 6.1.

    Each link has q = (phi, d_1, d_2), its axis is d_1. The step is

        q_{k+1} - q_k = h (v_k + v_{k+1}) / 2,    M (v_{k+1} - v_k) + h f_k = 0,    Phi(q_{k+1}) = 0,
        f_k = grad V + G(q_{k+1/2})^T gamma_k + B^T u_k    with B of the contravariant midpoint directors.
    """

    start = np.array([np.pi / 2, -np.pi / 2, np.pi / 2])
    end = np.array([np.pi / 2, 0.0, 0.0])
    horizon = 3.0
    m, l, g = (30.0, 25.0, 10.0), (7.0, 6.0, 8.0), 9.81
    E = ((1.225, 143.3027), (1.0208, 88.0208), (0.4083, 60.2083))

    def __init__(self) -> None:
        alpha, rate, q, v, gamma, u = (ca.SX.sym(name, n) for name, n in zip("arqvgu", (3, 3, 18, 18, 15, 3), strict=True))
        self.M = np.concatenate([np.repeat((m, *E), 2) for m, E in zip(self.m, self.E, strict=True)])
        weight = np.concatenate([[0.0, m * self.g, 0.0, 0.0, 0.0, 0.0] for m in self.m])
        placed, Phi, joint_forces = [], [], []
        angle, tip, joint = 0, ca.SX.zeros(2), ca.SX.zeros(2)
        for i, l in enumerate(self.l):
            angle += alpha[i]
            axis, normal = ca.vertcat(ca.cos(angle), ca.sin(angle)), ca.vertcat(-ca.sin(angle), ca.cos(angle))
            placed += [tip + l / 2 * axis, axis, normal]
            tip += l * axis
            phi, d1, d2 = ca.vertsplit(q[6 * i : 6 * i + 6], 2)
            Phi += [(ca.dot(d1, d1) - 1) / 2, (ca.dot(d2, d2) - 1) / 2, ca.dot(d1, d2), phi - l / 2 * d1 - joint]
            joint = phi + l / 2 * d1
            # The contravariant directors, turned by a right angle, are d_2 and -d_1 over their area.
            torque = (u[i] - (u[i + 1] if i < 2 else 0)) / 2 / (d1[0] * d2[1] - d1[1] * d2[0])
            joint_forces += [ca.SX.zeros(2), torque * d2, -torque * d1]
        placed, Phi, BTu = ca.vertcat(*placed), ca.vertcat(*Phi), ca.vertcat(*joint_forces)
        self.place = ca.Function("place", [alpha], [placed])
        self.move = ca.Function("move", [alpha, rate], [ca.jtimes(placed, alpha, rate)])
        self.Phi = ca.Function("Phi", [q], [Phi])
        self.B = ca.Function("B", [q, v], [ca.jtimes(BTu, u, v, True)])
        self.f = ca.Function("f", [q, gamma, u], [weight + ca.jtimes(Phi, q, gamma, True) + BTu])

    def problem(self, N: int, guess: Guess, velocities: bool = False) -> dict[str, Any]:
        """Least effort from rest to rest. End: q_N = q_f and B(q_N) v_N = 0, (7.11).

        With `velocities` the unknowns are (q, v, gamma, u) and the step stands as above. Without, v_1 ... v_{N-1} are eliminated by adding
        neighbouring steps, 2 M (q_{k+1} - 2 q_k + q_{k-1}) + h^2 (f_{k-1} + f_k) = 0: the same minima with two thirds of the unknowns, and
        IPOPT is faster. The factor h^2 matters: of the scalings tried this one takes the fewest iterations.
        """
        h, M = self.horizon / N, self.M
        q_f = self.place(self.end)
        Q, V, gamma, u = (
            ca.SX.sym(name, n, N if name != "v" or velocities else 1) for name, n in zip("qvgu", (18, 18, 15, 3), strict=True)
        )
        q = [self.place(self.start), *ca.horzsplit(Q)]
        dq = [b - a for a, b in pairwise(q)]
        f = [self.f((q[k] + q[k + 1]) / 2, gamma[:, k], u[:, k]) for k in range(N)]
        if velocities:
            v = [ca.SX.zeros(18), *ca.horzsplit(V)]
            steps = [ca.vertcat(dq[k] - h / 2 * (v[k] + v[k + 1]), M * (v[k + 1] - v[k]) + h * f[k]) for k in range(N)]
        else:
            v = [V]
            steps = [2 * M * dq[0] + h**2 * f[0]]
            steps += [2 * M * (dq[k] - dq[k - 1]) + h**2 * (f[k] + f[k - 1]) for k in range(1, N)]
            steps += [2 * M * (h * V - dq[-1]) + h**2 * f[-1]]
        equations = [*steps, *map(self.Phi, q[1:-1]), q[-1] - q_f, self.B(q_f, v[-1])]
        moved = columns(self.move, guess.coordinates, guess.rates)
        return program(
            h / 2 * ca.sumsqr(u),
            equations,
            [Q, V, gamma, u],
            [columns(self.place, guess.coordinates)[1:], moved[1:] if velocities else moved[-1:], np.zeros((N, 15)), guess.controls],
            [ca.horzcat(*q), ca.horzcat(*v), u],
        )

    def angles(self, q: np.ndarray) -> np.ndarray:
        """Relative joint angles (N + 1, 3) of directors (N + 1, 18), continuous from the start on."""
        absolute = np.unwrap(np.arctan2(q[:, 3::6], q[:, 2::6]), axis=0)
        return np.diff(absolute, axis=1, prepend=0.0)


class Satellite:
    """Main body with three rotors, REM: coordinates (phi, theta, alpha), thesis section 6.3, Table 4.1. A turn by pi from rest to rest.

    Redundant coordinates z in R^30: phi and the directors d_j of the main body, the two directors of each rotor that are off its axis. (The
    centre phi + l_i d_i and the axis d_i of rotor i are linear in them: q = S z, so S^T M S is a constant mass matrix.) The step is

        z_{k+1} - z_k = h (w_k + w_{k+1}) / 2,    P(z_{k+1/2})^T S^T M S (w_{k+1} - w_k) + h (0, u_k) = 0,    z_k = z(theta_k).
    """

    end = np.pi / np.sqrt(14.0) * np.array([1.0, 2.0, 3.0])
    horizon = 5.0
    m, E = 1005.3096, np.array([89.3609, 201.0619, 357.4434])
    m_rotor, E_axis, E_off, l = 424.1150, 8.8357, 106.0288, np.array([0.9167, 1.25, 1.5833])

    def __init__(self) -> None:
        y, rate, z, w = (ca.SX.sym(name, n) for name, n in zip("yrzw", (9, 9, 30, 30), strict=True))
        S, M = np.zeros((4, 4, 10)), np.zeros((4, 4))  # bodies x (centre, three directors) x vectors of z
        S[0, :, :4], M[0] = np.eye(4), (self.m, *self.E)
        for i in range(3):
            S[1 + i, 0, [0, 1 + i]] = 1.0, self.l[i]
            S[1 + i, 1 + i, 1 + i] = 1.0
            for n, j in enumerate(off_axis(i)):
                S[1 + i, 1 + j, 4 + 2 * i + n] = 1.0
            M[1 + i] = self.m_rotor, *np.where(np.arange(3) == i, self.E_axis, self.E_off)
        self.M = np.kron(np.einsum("bvi,bv,bvj->ij", S, M, S), np.eye(3))

        phi, theta, alpha = ca.vertsplit(y, 3)
        t, K = ca.norm_2(theta), ca.skew(theta)
        R = ca.SX.eye(3) + ca.sin(t) / t * K + 0.5 * (ca.sin(t / 2) / (t / 2)) ** 2 * K @ K
        d, rotors = ca.horzsplit(R), []
        for i in range(3):
            a, b = off_axis(i)
            rotors += [ca.cos(alpha[i]) * d[a] + ca.sin(alpha[i]) * d[b], ca.cos(alpha[i]) * d[b] - ca.sin(alpha[i]) * d[a]]
        placed = ca.vertcat(phi, *d, *rotors)
        self.place = ca.Function("place", [y], [placed])
        self.move = ca.Function("move", [y, rate], [ca.jtimes(placed, y, rate)])

        # P^T w: the force, the moment of all directors, the moment of the directors of each rotor about its axis.
        x, f = ca.vertsplit(z, 3), ca.vertsplit(w, 3)
        moments = [ca.cross(x[j], f[j]) for j in range(1, 10)]
        about_axes = [ca.dot(x[1 + i], moments[3 + 2 * i] + moments[4 + 2 * i]) for i in range(3)]
        self.PT = ca.Function("PT", [z, w], [ca.vertcat(f[0], sum(moments), *about_axes)])
        # B w: velocity, angular velocity, rates of the rotors; at a node the directors are orthonormal.
        omega = sum(moments[:3]) / 2
        self.B = ca.Function("B", [z, w], [ca.vertcat(f[0], omega, *(about_axes[i] / 2 - ca.dot(x[1 + i], omega) for i in range(3)))])

    def problem(self, N: int, guess: Guess) -> dict[str, Any]:
        """Least effort. End: theta_N = theta_f and all nine rates B(q_N) v_N = 0; phi_N and alpha_N are free."""
        h = self.horizon / N
        Y, W, u = (ca.SX.sym(name, n, N) for name, n in zip("ywu", (9, 30, 3), strict=True))
        z = [ca.vertcat(np.zeros(3), *np.eye(3), *(np.eye(3)[j] for i in range(3) for j in off_axis(i))), *map(self.place, ca.horzsplit(Y))]
        w = [ca.SX.zeros(30), *ca.horzsplit(W)]
        equations = []
        for k in range(N):
            momentum = self.PT((z[k] + z[k + 1]) / 2, self.M @ (w[k + 1] - w[k]))
            equations += [z[k + 1] - z[k] - h / 2 * (w[k] + w[k + 1]), momentum + h * ca.vertcat(np.zeros(6), u[:, k])]
        equations += [Y[3:6, -1] - self.end, self.B(z[-1], w[-1])]
        return program(
            h / 2 * ca.sumsqr(u),
            equations,
            [Y, W, u],
            [guess.coordinates[1:], columns(self.move, guess.coordinates[1:], guess.rates[1:]), guess.controls],
            [ca.horzcat(np.zeros(9), Y), ca.horzcat(*w), u],
        )

    def reduced(self, N: int) -> Guess:
        """A guess from the motion without momentum, whose states are attitude and rotor rates, by the midpoint rule on a finer grid.

        Omega = -I^{-1} J_s a,    (J_s - J_s I^{-1} J_s) a' = -u    with a = alpha', in the body frame; attitude by a unit quaternion p.
        """
        fine = -(-200 // N)
        n, J_s = N * fine, self.E_off * 2
        h = self.horizon / n
        mass = self.m + 3 * self.m_rotor
        centre = self.m_rotor * self.l / mass
        inertia = np.diag(self.E.sum() - self.E)
        for i in range(3):
            E = np.where(np.arange(3) == i, self.E_axis, self.E_off)
            r = self.l[i] * np.eye(3)[i]
            inertia += np.diag(E.sum() - E) + self.m_rotor * (r @ r * np.eye(3) - np.outer(r, r))
        inertia -= mass * (centre @ centre * np.eye(3) - np.outer(centre, centre))
        turn = -np.linalg.solve(inertia, J_s * np.eye(3))  # Omega = turn a
        effective = J_s * (np.eye(3) + turn)

        axis = self.end / np.linalg.norm(self.end)
        half = np.linalg.norm(self.end) / 2
        p_f = np.r_[np.cos(half), np.sin(half) * axis]
        P, A, u = (ca.SX.sym(name, r, c) for name, r, c in (("p", 4, n), ("a", 3, n), ("u", 3, n)))
        p = [ca.DM([1, 0, 0, 0]), *ca.horzsplit(P)]
        a = [ca.DM.zeros(3), *ca.horzsplit(A)]
        equations = []
        for k in range(n):
            Omega = turn @ (a[k] + a[k + 1]) / 2
            equations += [p[k + 1] - p[k] - h / 2 * product((p[k] + p[k + 1]) / 2, Omega), effective @ (a[k + 1] - a[k]) + h * u[:, k]]
        # Three rows for the attitude: the scheme keeps |p| = 1, a fourth would be redundant.
        equations += [product(p[-1], -p_f[1:])[1:] + p_f[0] * p[-1][1:], a[-1]]
        s = np.linspace(0.0, 1.0, n + 1)[1:, None]
        p_guess = np.hstack([np.cos(half * s), np.sin(half * s) * axis])
        a_guess = np.tile(np.linalg.solve(turn, 2 * half / self.horizon * axis), (n, 1))
        guess = [p_guess, a_guess, np.zeros((n, 3))]
        found = solve(program(h / 2 * ca.sumsqr(u), equations, [P, A, u], guess, [ca.horzcat(*p), ca.horzcat(*a), u]))

        quaternion, spin = found["coordinates"], found["rates"]
        size = np.linalg.norm(quaternion[:, 1:], axis=1, keepdims=True)
        theta = 2 * np.arctan2(size, quaternion[:, :1]) / np.where(size > 0, size, 1.0) * quaternion[:, 1:]
        alpha = np.vstack([np.zeros(3), np.cumsum(h / 2 * (spin[1:] + spin[:-1]), axis=0)])
        # The centre of mass stays: phi = (1 - R) c, by Rodrigues' formula for the quaternion.
        vector = quaternion[:, 1:]
        phi = -2 * np.cross(vector, np.cross(vector, centre) + quaternion[:, :1] * centre)
        path = np.hstack([phi, theta, alpha])
        controls = found["controls"].reshape(N, fine, 3).mean(axis=1)
        return Guess(path[::fine], np.gradient(path, h, axis=0, edge_order=2)[::fine], controls)


def off_axis(i: int) -> tuple[int, int]:
    """The two directors that turn about director i, in order."""
    return (i + 1) % 3, (i + 2) % 3


def product(p: ca.SX, Omega: ca.SX) -> ca.SX:
    """Product of a quaternion and a vector."""
    return ca.vertcat(-ca.dot(p[1:], Omega), p[0] * Omega + ca.cross(p[1:], Omega))


class CartPole:
    """Swing-up of a pole on a cart by trapezoidal collocation: Kelly (2017), section 6; x = (position, angle, rates), cost int u^2 dt."""

    start = np.array([0.0, 0.0])
    end = np.array([1.0, np.pi])
    horizon = 2.0
    m1, m2, l, g = 1.0, 0.3, 0.5, 9.81
    force, track = 20.0, 2.0

    def problem(self, N: int, guess: Guess) -> dict[str, Any]:
        """Controls at the N + 1 nodes, linear between them; those of the guess, constant on intervals, are averaged."""
        h = self.horizon / N
        X, u = ca.SX.sym("x", 4, N + 1), ca.SX.sym("u", 1, N + 1)
        s, c, rate = ca.sin(X[1, :]), ca.cos(X[1, :]), X[3, :]
        pull = self.m2 * self.l * s * rate**2
        inertia = self.m1 + self.m2 * s**2
        slope = ca.vertcat(
            X[2:, :],
            (pull + u + self.m2 * self.g * c * s) / inertia,
            -(c * pull + u * c + (self.m1 + self.m2) * self.g * s) / (self.l * inertia),
        )
        steps = X[:, 1:] - X[:, :-1] - h / 2 * (slope[:, 1:] + slope[:, :-1])
        ends = ca.vertcat(X[:, 0] - np.r_[self.start, 0.0, 0.0], X[:, -1] - np.r_[self.end, 0.0, 0.0])
        weights = np.full(N + 1, h)
        weights[[0, -1]] = h / 2
        controls = np.pad(guess.controls[:, 0], 1, mode="edge")
        reach = np.array([self.track, np.inf, np.inf, np.inf])
        return program(
            ca.dot(weights, u.T**2),
            [ca.vec(steps), ends],
            [X, u],
            [np.hstack([guess.coordinates, guess.rates]), (controls[1:] + controls[:-1]) / 2],
            [X[:2, :], X[2:, :], u],
            {0: (-reach, reach), 1: (-self.force, self.force)},
        )


def report(name: str, N: int, start: str, result: dict[str, Any], note: str = "") -> None:
    iterations = max(result["iterations"], 1)
    print(
        f"{name:<15}{N:>5} {start:<10}{result['cost']:>18.6f}{result['iterations']:>6}{1e3 * result['solve_seconds'] / iterations:>9.2f}"
        f"{result['build_seconds']:>8.2f}{result['solve_seconds']:>9.3f}{result['derivative_seconds'] / result['solve_seconds']:>7.1%}"
        f"  {result['status']}{note}",
        flush=True,
    )


def main(seeds: int) -> None:
    """Print every problem from every start."""
    print(f"{'problem':<15}{'N':>5} {'start':<10}{'cost':>18}{'iter':>6}{'ms/iter':>9}{'build s':>8}{'solve s':>9}{'deriv':>7}")

    def starts(name: str, guess: Guess, horizon: float, size: float) -> dict[str, Guess]:
        return {name: guess, **{f"seed {seed}": perturbed(guess, horizon, seed, size) for seed in range(seeds)}}

    arm = ThreeLink()
    for velocities in (False, True):
        for N in (20, 80) if velocities else (20, 80, 320):
            guesses = starts("linear", linear(arm.start, arm.end, N, 3, arm.horizon), arm.horizon, 0.5)
            if N == 20 and not velocities:
                guesses["constant"] = constant(arm.start, N, 3)
            for name, guess in guesses.items():
                result = solve(arm.problem(N, guess, velocities), max_iter=1000)
                alpha = arm.angles(result["coordinates"])
                note = f"  alpha_2 > {alpha[:, 1].min():.2f}, alpha_3 < {alpha[:, 2].max():.2f}"
                report("3-link, with v" if velocities else "3-link", N, name, result, note)
    craft = Satellite()
    for N in (20, 80):
        for name, guess in starts("reduced", craft.reduced(N), craft.horizon, 0.1).items():
            report("satellite", N, name, solve(craft.problem(N, guess), max_iter=1000))
    cart = CartPole()
    for name, guess in starts("linear", linear(cart.start, cart.end, 200, 1, cart.horizon), cart.horizon, 0.3).items():
        report("cart-pole", 200, name, solve(cart.problem(200, guess)))


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 5)
