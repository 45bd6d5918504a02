"""Problems with stages, written by hand for tests of solvers: spec/001 sections 3, 4 and a cart with a pole."""

from __future__ import annotations

import casadi as ca
import numpy as np

from kreisel.control.stages import Bounds, End, Part, Sizes, Stages
from kreisel.symbolic.smallangle import f1, f2

GRAVITY = 9.81
FREE = np.inf


def stages(
    z: ca.SX, x: ca.SX, u: ca.SX, h: ca.SX, equations: ca.SX, update: ca.SX, cost: ca.SX, end: ca.SX, *, start: np.ndarray, horizon: float,
    steps: int, u_bounds: tuple[float, float] | np.ndarray = (-FREE, FREE), path: ca.SX | None = None,
    path_bounds: np.ndarray | None = None, end_bounds: np.ndarray | None = None, end_cost: ca.SX | None = None,
    free: np.ndarray | None = None,
) -> Stages:  # fmt: skip
    """A problem whose end conditions and cost are written in the symbols z."""
    c = ca.SX(0, 1) if path is None else path
    variables = ca.vertcat(z, x, u)
    sizes = Sizes(z.numel(), x.numel(), u.numel(), c.numel(), end.numel())
    rows = ca.vertcat(equations, update, c)
    columns, at = np.arange(sizes.y)[None], np.arange(sizes.rows)[None]
    part = Part(variables, columns, h, np.array([[1]]), rows, at, cost)
    low, high = np.broadcast_to(np.array(u_bounds, dtype=float).reshape(2, -1), (2, sizes.u)).copy()
    c_bounds = np.zeros((2, 0)) if path_bounds is None else np.asarray(path_bounds, dtype=float)
    e_bounds = np.zeros((2, sizes.e)) if end_bounds is None else np.asarray(end_bounds, dtype=float)
    bounds = Bounds((low, high), (c_bounds[0], c_bounds[1]), (e_bounds[0], e_bounds[1]))
    E = ca.SX(0) if end_cost is None else end_cost
    step = horizon / steps
    return Stages(sizes, [part], End(z, E, end), bounds, start, np.arange(steps) * step, np.array([step]), free)


def constant(problem: Stages, x: np.ndarray, u: np.ndarray | float = 0.0) -> tuple[np.ndarray, np.ndarray]:
    """The guess that stays where it starts."""
    s = problem.sizes
    y = np.concatenate([problem.start, x, np.broadcast_to(u, s.u)])
    return np.tile(y, (problem.steps, 1)), problem.start.copy()


def pendulum(steps: int = 20, **options) -> tuple[Stages, np.ndarray, np.ndarray]:
    """Section 8.1 with the midpoint rule; x is the mean rate."""
    z, x, u, h = ca.SX.sym("z", 2), ca.SX.sym("x"), ca.SX.sym("u"), ca.SX.sym("h")
    R = 2 * (x - z[1]) / h - (GRAVITY * ca.cos(z[0] + h / 2 * x) - u)
    U = ca.vertcat(z[0] + h * x, 2 * x - z[1])
    problem = stages(z, x, u, h, R, U, h * u**2 / 2, z - ca.DM([np.pi / 2, 0]), start=np.zeros(2), horizon=3.0, steps=steps, **options)
    return problem, *constant(problem, np.zeros(1))


def cart_pole(steps: int = 200, force: float = 20.0, **options) -> tuple[Stages, np.ndarray, np.ndarray]:
    """Swing-up with the midpoint rule: cart 1 kg, bob 0.3 kg, length 0.5 m, moved by 1 m in 2 s; the force is bounded."""
    m1, m2, length, distance = 1.0, 0.3, 0.5, 1.0
    z, x, u, h = ca.SX.sym("z", 4), ca.SX.sym("x", 2), ca.SX.sym("u"), ca.SX.sym("h")
    a = 2 * (x - z[2:]) / h
    q = z[:2] + h / 2 * x
    sin, cos = ca.sin(q[1]), ca.cos(q[1])
    R = ca.vertcat(
        (m1 + m2) * a[0] + m2 * length * (a[1] * cos - x[1] ** 2 * sin) - u,
        length * a[1] + a[0] * cos + GRAVITY * sin,
    )
    U = ca.vertcat(z[:2] + h * x, 2 * x - z[2:])
    end = z - ca.DM([distance, np.pi, 0, 0])
    problem = stages(
        z, x, u, h, R, U, h * u**2, end, start=np.zeros(4), horizon=2.0, steps=steps, u_bounds=(-force, force), **options
    )  # fmt: skip
    s = np.linspace(0, 1, steps + 1)
    y = np.zeros((steps, 7))
    y[:, 0], y[:, 1] = distance * s[:-1], np.pi * s[:-1]
    return problem, y, np.array([distance, np.pi, 0.0, 0.0])


MASSES, LENGTHS = np.array([30.0, 25.0, 10.0]), np.array([7.0, 6.0, 8.0])
EULER = np.array([[1.225, 143.3027], [1.0208, 88.0208], [0.4083, 60.2083]])
ANGLES = np.array([np.pi / 2, -np.pi / 2, np.pi / 2]), np.array([np.pi / 2, 0.0, 0.0])
TURN = ca.DM([[0, -1], [1, 0]])


def links(alpha: ca.SX) -> ca.SX:
    """Table 6.1: (phi, d_1, d_2) of the three links from relative angles."""
    q, tip, beta = [], ca.DM.zeros(2), 0
    for i in range(3):
        beta = beta + alpha[i]
        d1, d2 = ca.vertcat(ca.cos(beta), ca.sin(beta)), ca.vertcat(-ca.sin(beta), ca.cos(beta))
        q += [tip + LENGTHS[i] / 2 * d1, d1, d2]
        tip = tip + LENGTHS[i] * d1
    return ca.vertcat(*q)


MASS = np.concatenate([np.repeat([m, *e], 2) for m, e in zip(MASSES, EULER, strict=True)])
WEIGHT = np.concatenate([[0, m * GRAVITY, 0, 0, 0, 0] for m in MASSES])


def three_link_gc(steps: int = 20, friction: float = 0.0, **options) -> tuple[Stages, np.ndarray, np.ndarray]:
    """Section 6.2 in relative angles with the midpoint rule, the thesis's sign of u."""
    z, x, u, h = ca.SX.sym("z", 6), ca.SX.sym("x", 3), ca.SX.sym("u", 3), ca.SX.sym("h")
    alpha = ca.SX.sym("alpha", 3)
    P = ca.jacobian(links(alpha), alpha)
    rate = ca.SX.sym("rate", 3)
    terms = ca.Function("terms", [alpha, rate], [P.T @ (MASS * P), P.T @ (MASS * (ca.jtimes(P @ rate, alpha, rate)) + WEIGHT)])
    M, f = terms(z[:3] + h / 2 * x, x)
    R = M @ (2 * (x - z[3:])) + h * (f + u + friction * x)
    U = ca.vertcat(z[:3] + h * x, 2 * x - z[3:])
    end = z - ca.DM(np.concatenate([ANGLES[1], np.zeros(3)]))
    start = np.concatenate([ANGLES[0], np.zeros(3)])
    problem = stages(z, x, u, h, R, U, h * ca.dot(u, u) / 2, end, start=start, horizon=3.0, steps=steps, **options)
    y, last = constant(problem, np.zeros(3))
    # Straight from start to end: from where it only stays, a search may well find the cheaper minimum on the other side.
    straight = ANGLES[0] + np.linspace(0, 1, steps + 1)[:, None] * (ANGLES[1] - ANGLES[0])
    y[:, :3], last[:3] = straight[:-1], straight[-1]
    return problem, y, last


def three_link_bem(steps: int = 20, guess: str = "constant", **options) -> tuple[Stages, np.ndarray, np.ndarray]:
    """Section 7.3 in directors; x = (q_{k+1}, gamma). All of q_N is given (15 of the 18 conditions follow), joint rates are zero."""
    z, x, u, h = ca.SX.sym("z", 36), ca.SX.sym("x", 33), ca.SX.sym("u", 3), ca.SX.sym("h")
    q, v, q1, gamma = z[:18], z[18:], x[:18], x[18:]

    def constraints(q: ca.SX) -> ca.SX:
        rows, tip = [], ca.DM.zeros(2)
        for i in range(3):
            phi, d1, d2 = q[6 * i : 6 * i + 2], q[6 * i + 2 : 6 * i + 4], q[6 * i + 4 : 6 * i + 6]
            rows += [(ca.dot(d1, d1) - 1) / 2, (ca.dot(d2, d2) - 1) / 2, ca.dot(d1, d2), phi - LENGTHS[i] / 2 * d1 - tip]
            tip = phi + LENGTHS[i] / 2 * d1
        return ca.vertcat(*rows)

    def inputs(directors: list[ca.SX]) -> ca.SX:
        """B^T: half of the torque by each of the directors that are given (2, 2)."""
        B = ca.SX.zeros(18, 3)
        for i in range(3):
            column = ca.vertcat(TURN @ directors[i][:, 0], TURN @ directors[i][:, 1]) / 2
            B[6 * i + 2 : 6 * i + 6, i] = column
            if i < 2:
                B[6 * i + 2 : 6 * i + 6, i + 1] = -column
        return B

    def axes(q: ca.SX) -> list[ca.SX]:
        return [ca.horzcat(q[6 * i + 2 : 6 * i + 4], q[6 * i + 4 : 6 * i + 6]) for i in range(3)]

    def contravariant(d: ca.SX) -> ca.SX:
        return ca.vertcat(ca.horzcat(d[1, 1], -d[1, 0]), ca.horzcat(-d[0, 1], d[0, 0])) / (d[0, 0] * d[1, 1] - d[0, 1] * d[1, 0])

    v1 = 2 / h * (q1 - q) - v
    mid = (q + q1) / 2
    some = ca.SX.sym("q", 18)
    G = ca.Function("G", [some], [ca.jacobian(constraints(some), some)])(mid)
    R = ca.vertcat(MASS * (v1 - v) + h * (WEIGHT + G.T @ gamma + inputs([contravariant(d) for d in axes(mid)]) @ u), constraints(q1))
    target = links(ca.DM(ANGLES[1]))
    end = ca.vertcat(q - target, inputs(axes(q)).T @ v)
    start = np.concatenate([np.array(links(ca.DM(ANGLES[0]))).ravel(), np.zeros(18)])
    problem = stages(z, x, u, h, R, ca.vertcat(q1, v1), h * ca.dot(u, u) / 2, end, start=start, horizon=3.0, steps=steps, **options)
    y, last = constant(problem, np.concatenate([start[:18], np.zeros(15)]))
    if guess == "linear":
        alpha = ANGLES[0] + np.linspace(0, 1, steps + 1)[:, None] * (ANGLES[1] - ANGLES[0])
        y, last = three_link_guess(problem, alpha)
    return problem, y, last


def three_link_guess(problem: Stages, alpha: np.ndarray, u: np.ndarray | float = 0.0) -> tuple[np.ndarray, np.ndarray]:
    """Of :func:`three_link_bem`, at rest with these angles (N + 1, 3)."""
    q = np.array([np.array(links(ca.DM(a))).ravel() for a in alpha])
    y = np.zeros((problem.steps, problem.sizes.y))
    y[:, :18], y[:, 36:54], y[:, 69:] = q[:-1], q[1:], u
    return y, np.concatenate([q[-1], np.zeros(18)])


def satellite(steps: int = 20, **options) -> tuple[Stages, ca.Function]:
    """Section 6.3 with REM, k = 0: coordinates y = (phi, theta, alpha), z = (y, w), x = y_{k+1}; all nine rates vanish at the end.

    w: velocities of phi, of the directors of the main body, and of the two of each rotor that are off its axis; all others are linear in
    these. Gives also the function (y, y') -> w.
    """
    m, E, m_rotor = 1005.3096, np.array([89.3609, 201.0619, 357.4434]), 424.1150
    E_axis, E_off, arm = 8.8357, 106.0288, np.array([0.9167, 1.25, 1.5833])
    off = [((i + 1) % 3, (i + 2) % 3) for i in range(3)]
    S, M = np.zeros((4, 4, 10)), np.zeros((4, 4))  # bodies, (centre, directors), vectors of w
    S[0, :, :4], M[0] = np.eye(4), (m, *E)
    for i in range(3):
        S[1 + i, 0, [0, 1 + i]] = 1.0, arm[i]
        S[1 + i, 1 + i, 1 + i] = 1.0
        for n, j in enumerate(off[i]):
            S[1 + i, 1 + j, 4 + 2 * i + n] = 1.0
        M[1 + i] = m_rotor, *np.where(np.arange(3) == i, E_axis, E_off)
    mass = np.kron(np.einsum("bvi,bv,bvj->ij", S, M, S), np.eye(3))

    def place(y: ca.SX) -> ca.SX:
        phi, theta, alpha = ca.vertsplit(y, 3)
        s, K = ca.dot(theta, theta), ca.skew(theta)
        d = ca.horzsplit(ca.SX.eye(3) + f1(s) * K - f2(s) * K @ K)
        rotors = []
        for i, (a, b) in enumerate(off):
            rotors += [ca.cos(alpha[i]) * d[a] + ca.sin(alpha[i]) * d[b], ca.cos(alpha[i]) * d[b] - ca.sin(alpha[i]) * d[a]]
        return ca.vertcat(phi, *d, *rotors)

    def moments(p: ca.SX, f: ca.SX) -> tuple[list[ca.SX], list[ca.SX], list[ca.SX]]:
        p, f = ca.vertsplit(p, 3), ca.vertsplit(f, 3)
        each = [ca.cross(p[j], f[j]) for j in range(1, 10)]
        return f, each, [ca.dot(p[1 + i], each[3 + 2 * i] + each[4 + 2 * i]) for i in range(3)]

    z, x, u, h = ca.SX.sym("z", 39), ca.SX.sym("x", 9), ca.SX.sym("u", 3), ca.SX.sym("h")
    old, new = place(z[:9]), place(x)
    w1 = 2 / h * (new - old) - z[9:]
    f, each, about = moments((old + new) / 2, mass @ (w1 - z[9:]))
    R = ca.vertcat(f[0], sum(each), *about) + h * ca.vertcat(ca.SX.zeros(6), u)
    v, each, about = moments(old, z[9:])
    omega, axes = sum(each[:3]) / 2, ca.vertsplit(old, 3)[1:4]
    rates = ca.vertcat(v[0], omega, *(about[i] / 2 - ca.dot(axes[i], omega) for i in range(3)))
    target = np.pi / np.sqrt(14) * np.array([1.0, 2.0, 3.0])
    end = ca.vertcat(z[3:6] - target, rates)
    problem = stages(
        z, x, u, h, R, ca.vertcat(x, w1), h * ca.dot(u, u) / 2, end, start=np.zeros(39), horizon=5.0, steps=steps, **options
    )  # fmt: skip
    y, rate = ca.SX.sym("y", 9), ca.SX.sym("rate", 9)
    return problem, ca.Function("move", [y, rate], [ca.jtimes(place(y), y, rate)])


def satellite_guess(problem: Stages, move: ca.Function) -> tuple[np.ndarray, np.ndarray]:
    """A turn about the axis of the target, with rotors that keep the angular momentum zero; rest at both ends, no torques."""
    inertia = np.array([[2404.7911, 90.4933, 114.6225], [90.4933, 2043.8421, 156.2977], [114.6225, 156.2977, 1561.5297]])  # spec/001, 4
    s = np.linspace(0, 1, problem.steps + 1)[:, None]
    turn, rate = 3 * s**2 - 2 * s**3, 6 * (s - s**2) / 5.0
    target = np.pi / np.sqrt(14) * np.array([1.0, 2.0, 3.0])
    rotors = -inertia @ target / 212.0576
    y = np.hstack([np.zeros((len(s), 3)), turn * target, turn * rotors])
    w = np.array([np.array(move(*row)).ravel() for row in zip(y, np.hstack([0 * y[:, :3], rate * target, rate * rotors]), strict=True)])
    guess = np.hstack([y[:-1], w[:-1], y[1:], np.zeros((problem.steps, 3))])
    return guess, np.concatenate([y[-1], w[-1]])
