"""Rotational dynamics: microseconds per step of A1, A2, A3, A4 beside generalized-alpha and RATTLie, on SO3 and S3.

Two problems of Sadłowski, unconstrained, in one run: the free asymmetric body at h = 0.1 and the heavy symmetric top at h = 1e-3, 1e5
steps each, exact Newton to 1e-10. A4, which is explicit, takes a tenth of the step. Reported: the best of several repetitions, taken in
turns, and Newton iterations per step.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

import kreisel as kr

STEPS, TOLERANCE = 100_000, 1e-10
ROUNDS = 5
METHODS = {
    "A1": kr.A1(),
    "A2": kr.A2(),
    "A3": kr.A3(),
    "A4": kr.A4(),
    "generalized-alpha": kr.GeneralizedAlpha(0.9),
    "RATTLie": kr.RATTLie(),
}


def run_of(system: kr.System, step: float, method: kr.methods.Method) -> Callable[[], tuple[float, float]]:
    newton = kr.Newton(atol=TOLERANCE, rtol=TOLERANCE)

    def run() -> tuple[float, float]:
        sol = kr.simulate(system, STEPS * step, step, method, newton=newton, every=STEPS)
        assert sol.success, sol.message
        return 1e6 * sol.stats.seconds / STEPS, sol.stats.newton_iterations_mean

    return run


def main() -> None:
    problems = {
        "free body": (lambda f: kr.models.intermediate_axis(f, torque=0, impulse=0, omega=(2, 0.5, -1)), 0.1),
        "heavy top": (kr.models.symmetric_top, 1e-3),
    }
    runs = {
        (problem, formulation, name): run_of(make(formulation), step / 10 if name == "A4" else step, method)
        for problem, (make, step) in problems.items()
        for formulation in ("SO3", "S3")
        for name, method in METHODS.items()
    }
    best, iterations = dict.fromkeys(runs, np.inf), {}
    for _ in range(ROUNDS):
        for name, run in runs.items():
            seconds, iterations[name] = run()
            best[name] = min(best[name], seconds)
    print(f"Rotational dynamics, {STEPS:,} steps, Newton to {TOLERANCE:g}: microseconds per step")
    for (problem, formulation, name), t in best.items():
        ratio = t / best[problem, formulation, "generalized-alpha"]
        count = iterations[problem, formulation, name]
        print(f"  {problem:<11}{formulation:<5}{name:<19}{t:6.2f}  {ratio:5.2f} x generalized-alpha   {count:.2f} iterations")


if __name__ == "__main__":
    main()
