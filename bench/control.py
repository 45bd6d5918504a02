"""Optimal control: the fast solver, IPOPT with compiled derivatives, and plain CasADi with IPOPT, from the same guesses.

Seconds to the minimum (medians over the starts that all of them bring to the same one), without and with the making of the problem. Plain
CasADi: the same discrete problem written by hand (bench/control_casadi.py); for the manipulator in two forms, with velocities as unknowns
as here, and with these eliminated, the quickest form found. Run: python bench/control.py [starts]
"""

import collections
import sys
import time

import control_casadi as plain
import numpy as np

import kreisel as kr

STARTS = int(sys.argv[1]) if len(sys.argv) > 1 else 5
SAME = 1e-6


def three_link(N, guess):
    arm = plain.ThreeLink()
    names = ("shoulder", "elbow", "wrist")
    end = kr.Target(dict(zip(names, arm.end - arm.start, strict=True)), rates="rest")
    values = dict(zip(names, (guess.coordinates - arm.start).T, strict=True))
    return kr.OptimalControl(kr.models.three_link(), horizon=arm.horizon, steps=N, end=end, guess=values), kr.BEM(), 1.0


def satellite(N, guess):
    craft = plain.Satellite()
    phi, theta, alpha = np.split(guess.coordinates, 3, axis=1)
    A = kr.SO3.exp(theta).reshape(-1, 3, 3)
    values = {"main": (phi, A), **{f"wheel {i + 1}": alpha[:, i] for i in range(3)}}
    values |= {f"u{i + 1}": -guess.controls[:, i] for i in range(3)}
    end = kr.Target(frames={"main": (None, kr.SO3.exp(craft.end).reshape(3, 3))}, rates="rest")
    return kr.OptimalControl(kr.models.satellite("directors"), horizon=craft.horizon, steps=N, end=end, guess=values), kr.REM(), 1.0


def cart_pole(N, guess):
    cart = plain.CartPole()
    x, angle = guess.coordinates.T
    bounds = {"force": (-cart.force, cart.force), "rail": (-cart.track, cart.track)}
    end = kr.Target({"rail": cart.end[0], "hinge": cart.end[1]}, rates="rest")
    problem = kr.OptimalControl(
        kr.models.cart_pole(), horizon=cart.horizon, steps=N, end=end, bounds=bounds, guess={"rail": x, "hinge": angle}
    )
    # Its cost is the integral of u^2, without one half; controls there are linear between the nodes, here constant in a step.
    return problem, kr.GC(), 2.0


def ours(make, solver, N, guess):
    problem, method, factor = make(N, guess)
    begun = time.perf_counter()
    res = problem.solve(method, solver=solver)
    total = time.perf_counter() - begun
    return {"cost": factor * res.cost, "iterations": res.iterations, "solve": res.solve_seconds, "total": total, "good": res.success}


def theirs(problem):
    found = plain.solve(problem, max_iter=1000)
    good = found["status"] == "Solve_Succeeded"
    return {
        "cost": found["cost"],
        "iterations": found["iterations"],
        "solve": found["solve_seconds"],
        "total": found["seconds"],
        "good": good,
    }


def compare(name, N, guesses, routes, tolerance=SAME):
    found = {route: [] for route in routes}
    for guess in guesses:
        for route, solve in routes.items():
            solve(N, guess)  # compiled by now, and in the cache of the processor as much as it can be
            found[route].append(solve(N, guess))
    first = next(iter(routes))
    same = [
        k
        for k in range(len(guesses))
        if all(r[k]["good"] and abs(r[k]["cost"] / found[first][k]["cost"] - 1) < tolerance for r in found.values())
    ]
    print(f"\n{name}, N = {N}: {len(same)} of {len(guesses)} starts lead all to the same minimum")
    for route, results in found.items():
        good = sum(r["good"] for r in results)
        if not same:
            costs = ", ".join(f"{r['cost']:.6g}" for r in results)
            print(f"  {route:42s} {good} solved, costs {costs}")
            continue
        median = {key: np.median([results[k][key] for k in same]) for key in ("iterations", "solve", "total")}
        reference = {key: np.median([found[first][k][key] for k in same]) for key in ("solve", "total")}
        print(
            f"  {route:42s} {good} solved, {median['iterations']:5.0f} iterations, {1e3 * median['solve']:9.2f} ms "
            f"({median['solve'] / reference['solve']:5.1f}), with preparation {1e3 * median['total']:9.1f} ms "
            f"({median['total'] / reference['total']:5.1f}); cost {results[same[0]]['cost']:.8g}",
            flush=True,
        )


def starts(guess, horizon, size):
    return [guess, *(plain.perturbed(guess, horizon, seed, size) for seed in range(STARTS - 1))]


def random_guesses(count):
    """How many random guesses for the manipulator (sines of deviation 1.5 rad) lead to a minimum, and how the others end."""
    arm = plain.ThreeLink()
    straight = plain.linear(arm.start, arm.end, 20, 3, arm.horizon)
    print(f"\n3-link manipulator, BEM, N = 20, {count} random guesses")
    for name, solver in {"Kreisel, fast": kr.Structured(), "Kreisel, IPOPT": kr.Ipopt(tolerance=1e-8)}.items():
        minima, failures = collections.Counter(), collections.Counter()
        for seed in range(count):
            problem, method, _ = three_link(20, plain.perturbed(straight, arm.horizon, seed, 1.5))
            res = problem.solve(method, solver=solver)
            assert np.isfinite(res.cost)
            (minima if res.success else failures)[f"{res.cost:.0f}" if res.success else res.status.value] += 1
        print(f"  {name:42s} {minima.total()} solved: {dict(minima.most_common())}; not: {dict(failures.most_common())}", flush=True)


def routes(make, baselines, ipopt=True):
    return {
        "Kreisel, fast": lambda N, guess: ours(make, kr.Structured(), N, guess),
        **({"Kreisel, IPOPT": lambda N, guess: ours(make, kr.Ipopt(tolerance=1e-8), N, guess)} if ipopt else {}),
        **{name: (lambda N, guess, problem=problem: theirs(problem(N, guess))) for name, problem in baselines.items()},
    }


if __name__ == "__main__":
    arm, craft, cart = plain.ThreeLink(), plain.Satellite(), plain.CartPole()
    print("seconds to a minimum; in brackets as multiples of the fast solver")
    for N in (20, 80, 320):
        baselines = {"CasADi, by hand, velocities eliminated": arm.problem}
        small = N < 320  # with all velocities as unknowns IPOPT takes minutes else
        if small:
            baselines["CasADi, by hand, same unknowns"] = lambda N, guess: arm.problem(N, guess, velocities=True)
        guesses = starts(plain.linear(arm.start, arm.end, N, 3, arm.horizon), arm.horizon, 0.5)
        compare("3-link manipulator, BEM", N, guesses, routes(three_link, baselines, ipopt=small))
    for N in (20, 80):
        guesses = starts(craft.reduced(N), craft.horizon, 0.1)
        compare("satellite, REM", N, guesses, routes(satellite, {"CasADi, by hand": craft.problem}))
    guesses = starts(plain.linear(cart.start, cart.end, 200, 1, cart.horizon), cart.horizon, 0.3)
    compare("cart-pole, GC beside trapezoidal collocation", 200, guesses, routes(cart_pole, {"CasADi, by hand": cart.problem}), 1e-3)
    random_guesses(40)
