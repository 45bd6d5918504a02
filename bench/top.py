"""The constrained fast heavy top: microseconds per step of Kreisel beside Exudyn and a loop written by hand in C++.

One run, 1e5 steps of 1e-4 s, exact Newton to 1e-10. The C++ loop (``top.cpp``, compiled if there is a compiler) is the same method with
the same stopping rule and ends at the same place. Exudyn runs its Lie group node with generalized-alpha, rho = 0.6, full Newton at its
default tolerance, for a tenth of the steps: the same problem, not the same work. Reported: the best of several repetitions, taken in
turns.
"""

from __future__ import annotations

import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

import kreisel as kr

STEPS, H, TOLERANCE = 100_000, 1e-4, 1e-10
ROUNDS = 5


def kreisel_run(formulation: str, method: kr.methods.Method) -> Callable[[], tuple[float, np.ndarray]]:
    top = kr.models.heavy_top(formulation)
    newton = kr.Newton(atol=TOLERANCE, rtol=TOLERANCE)

    def run() -> tuple[float, np.ndarray]:
        sol = kr.simulate(top, STEPS * H, H, method, newton=newton, every=STEPS)
        assert sol.success, sol.message
        return 1e6 * sol.stats.seconds / STEPS, sol.position("top")[-1]

    return run


def cpp_run(method: str) -> Callable[[], tuple[float, np.ndarray]] | None:
    compiler = shutil.which("g++") or shutil.which("clang++")
    if compiler is None:
        return None
    program = Path(tempfile.mkdtemp()) / "top"
    subprocess.run([compiler, "-O3", "-march=native", "-o", program, Path(__file__).with_suffix(".cpp")], check=True)

    def run() -> tuple[float, np.ndarray]:
        out = subprocess.run(
            [program, method, str(STEPS), str(H), str(TOLERANCE), "1"], capture_output=True, text=True, check=True
        ).stdout.split()
        return float(out[0]), np.array(out[2:], dtype=float)

    return run


def exudyn_run(steps: int = STEPS // 10) -> Callable[[], tuple[float, np.ndarray]] | None:
    try:
        import exudyn as exu
        from exudyn.utilities import RigidBodyInertia
    except ImportError:
        return None

    def run() -> tuple[float, np.ndarray]:
        container = exu.SystemContainer()
        mbs = container.AddSystem()
        omega = np.array([0, 150, -4.61538])
        body = mbs.CreateRigidBody(
            referencePosition=[0, 1, 0],
            inertia=RigidBodyInertia(15.0, np.diag([0.234375, 0.46875, 0.234375])),
            nodeType=exu.NodeType.RotationRotationVector,
            initialAngularVelocity=list(omega),
            initialVelocity=list(np.cross(omega, [0, 1, 0])),
            gravity=[0, 0, -9.81],
        )
        ground = mbs.CreateGround()
        mbs.CreateSphericalJoint(itemNumbers=[ground, body], position=[0, 0, 0])
        mbs.Assemble()
        settings = exu.SimulationSettings()
        settings.timeIntegration.numberOfSteps = steps
        settings.timeIntegration.endTime = steps * H
        settings.timeIntegration.verboseMode = 0
        settings.timeIntegration.generalizedAlpha.spectralRadius = 0.6
        settings.timeIntegration.newton.useModifiedNewton = False
        settings.solution.file.write = False
        begun = time.process_time()
        mbs.SolveDynamic(settings, solverType=exu.DynamicSolverType.GeneralizedAlpha)
        seconds = time.process_time() - begun
        position = mbs.GetObjectOutputBody(body, exu.OutputVariableType.Position, localPosition=[0, 0, 0])
        return 1e6 * seconds / steps, np.array(position)

    return run


def main() -> None:
    candidates = {
        ("RATTLie", "C++ loop, S3 x R3"): cpp_run("rattlie"),
        **{("RATTLie", f"Kreisel, {f}"): kreisel_run(f, kr.RATTLie()) for f in ("S3xR3", "SO3xR3", "S3R3", "SE3", "UDQ")},
        ("generalized-alpha", "C++ loop, S3 x R3"): cpp_run("alpha"),
        **{
            ("generalized-alpha", f"Kreisel, {f}"): kreisel_run(f, kr.GeneralizedAlpha(0.9))
            for f in ("S3xR3", "SO3xR3", "S3R3", "SE3", "UDQ")
        },
        ("generalized-alpha", "Exudyn, Lie group node"): exudyn_run(),
    }
    runs = {name: run for name, run in candidates.items() if run is not None}
    best = dict.fromkeys(runs, np.inf)
    place = {}
    for _ in range(ROUNDS):
        for name, run in runs.items():
            seconds, place[name] = run()
            best[name] = min(best[name], seconds)
    print(f"Constrained fast heavy top, {STEPS:,} steps of {H} s, Newton to {TOLERANCE:g}: microseconds per step")
    for (method, who), t in best.items():
        base = best.get((method, "C++ loop, S3 x R3"))
        ratio = f"{t / base:6.2f} x the C++ loop" if base else ""
        print(f"  {method:<20}{who:<26}{t:8.2f}  {ratio}   ends at {np.round(place[method, who], 6)}")
    exudyn = best.get(("generalized-alpha", "Exudyn, Lie group node"))
    if exudyn:
        print(f"  Exudyn / Kreisel (generalized-alpha, SO3xR3): {exudyn / best['generalized-alpha', 'Kreisel, SO3xR3']:.1f}")


if __name__ == "__main__":
    main()
