"""The flying spaghetti: microseconds per step and segment on finer and finer meshes, and seconds for a given accuracy beside Exudyn.

First table: one step size below the limit of the finest mesh, exact Newton to 1e-10 and a matrix kept as long as it serves (to 1e-12).
Second table: the Cosserat beam up to t = 2 s; for Exudyn's geometrically exact beam the quickest of its settings found here (Lie group
nodes; generalized-alpha with modified Newton, sparse or dense; explicit solvers). The error is that of all nodes (root of the mean square
of their distances) against the same program's own run with a fine step, so that it is the error of the step alone; both programs' fine
runs must tend to each other with the mesh. Compared are the quickest runs of both that keep below a given error. Every number is the best
of several repetitions, taken in turns.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np

import kreisel as kr

T_END = 2.0
#: The step of the first table, and its numbers of segments.
H, MESHES = 5e-5, (16, 64, 256, 1024)
EXACT, FROZEN = kr.Newton(atol=1e-10, rtol=1e-10), kr.Newton(atol=1e-12, rtol=1e-12, matrix="frozen")
ROUNDS = 5


def growth() -> None:
    """Time per step and segment over the number of segments."""
    print(f"Flying spaghetti, h = {H} s: microseconds per step and segment")
    print("(in brackets: Newton iterations per step)")
    print(f"{'':44}" + "".join(f"{f'M = {M}':>16}" for M in MESHES) + "   largest/smallest")
    cases = {v: {M: kr.models.flying_spaghetti(segments=M, variant=v) for M in MESHES} for v in ("cosserat", "kirchhoff", "inextensible")}
    cases |= {f"{kind} of kirchhoff": {M: build(M) for M in MESHES} for kind, build in (("ring", ring), ("star", star))}
    for variant, systems in cases.items():
        for method in (kr.RATTLie(), kr.GeneralizedAlpha(0.9)):
            for newton in (EXACT, FROZEN):
                best, iterations = dict.fromkeys(MESHES, np.inf), {}
                for _ in range(ROUNDS):
                    for M, system in systems.items():
                        steps = max(100, 16_000 // M)
                        sol = kr.simulate(system, steps * H, H, method, newton=newton, every=steps)
                        assert sol.success, sol.message
                        best[M] = min(best[M], 1e6 * sol.stats.seconds / steps / M)
                        iterations[M] = sol.stats.newton_iterations / steps
                row = np.array(list(best.values()))
                name = f"{variant}, {type(method).__name__}, {newton.matrix}"
                print(
                    f"{name:44}" + "".join(f"{t:9.3f} ({iterations[M]:4.2f})" for M, t in best.items()) + f"{row.max() / row.min():12.2f}"
                )


SECTION = kr.Section(500, 500, 500, 1e4, 1e4, 1e4, 1.0, (10.0, 10.0, 10.0))


def ring(M: int) -> kr.System:
    """A closed beam that turns."""
    m = kr.Mechanism()
    m.beam("ring", 10.0, M, SECTION, curve=kr.arc(10 / (2 * np.pi)), closed=True, variant="kirchhoff", omega=(0.5, 1.0, 0))
    return m.system()


def star(M: int) -> kr.System:
    """Four beams with a common node, M segments in all: a tree."""
    m = kr.Mechanism()
    directions = (1, 0, 0), (0, 1, 0), (-1, 0, 0), (0, -1, 0)
    centre = "free"
    for k, d in enumerate(directions):
        # The centre stands still; the arms turn about it.
        arm = m.beam(
            f"arm {k}", 2.5, M // 4, SECTION, curve=kr.straight(direction=d), start=centre, variant="kirchhoff", omega=(0.5, 0, 1.0)
        )
        centre = arm.start if k == 0 else centre
    return m.system()


def kreisel_run(M: int, method: Any, newton: kr.Newton) -> Callable[[float], tuple[float, np.ndarray]]:
    system = kr.models.flying_spaghetti(segments=M, variant="cosserat")

    def run(h: float) -> tuple[float, np.ndarray]:
        steps = round(T_END / h)
        sol = kr.simulate(system, T_END, T_END / steps, method, newton=newton, every=steps)
        return (sol.stats.seconds if sol.success else np.inf), sol.beam("spaghetti").position()[-1]

    return run


def exudyn_run(M: int, solver: str, linear: str = "EigenSparse") -> Callable[[float], tuple[float, np.ndarray]] | None:
    try:
        import exudyn as exu
        from exudyn import itemInterface as items
    except ImportError:
        return None
    length = 10.0
    # The axis of the beam is the first of the section there, the third here; stiffness and inertia are the same about all axes.
    rotation = kr.straight(direction=(-6, 8, 0)).rotation[:, [2, 0, 1]]
    vector = kr.SO3.log(np.ravel(rotation))

    def run(h: float) -> tuple[float, np.ndarray]:
        container = exu.SystemContainer()
        mbs = container.AddSystem()
        section = exu.BeamSection()
        section.stiffnessMatrix = np.diag([1e4, 1e4, 1e4, 500.0, 500.0, 500.0])
        section.inertia = 10.0 * np.eye(3)
        section.massPerLength = 1.0
        nodes = []
        for m in range(M + 1):
            place = np.array([6, 0, 0]) + m / M * np.array([-6, 8, 0])
            nodes.append(mbs.AddNode(items.NodeRigidBodyRotVecLG(referenceCoordinates=[*place, *vector])))
        for m in range(M):
            beam = items.ObjectBeamGeometricallyExact(nodeNumbers=nodes[m : m + 2], length=length / M, sectionData=section)
            mbs.AddObject(beam)
        marker = mbs.AddMarker(items.MarkerNodeRigid(nodeNumber=nodes[0]))

        def history(mbs: Any, t: float, load: list[float]) -> np.ndarray:
            return (t / 2.5 if t < 2.5 else max(0.0, (5 - t) / 2.5)) * np.array(load)

        mbs.AddLoad(items.LoadForceVector(markerNumber=marker, loadVector=[20, 0, 0], loadVectorUserFunction=history))
        mbs.AddLoad(items.LoadTorqueVector(markerNumber=marker, loadVector=[0, -100, -200], loadVectorUserFunction=history))
        mbs.Assemble()
        steps = round(T_END / h)
        settings = exu.SimulationSettings()
        settings.timeIntegration.numberOfSteps = steps
        settings.timeIntegration.endTime = T_END
        settings.timeIntegration.verboseMode = 0
        settings.timeIntegration.generalizedAlpha.spectralRadius = 0.9
        settings.timeIntegration.newton.useModifiedNewton = True
        settings.linearSolver.solverType = getattr(exu.LinearSolverType, linear)
        settings.solution.file.write = False
        begun = time.process_time()
        try:
            mbs.SolveDynamic(settings, solverType=getattr(exu.DynamicSolverType, solver))
        except Exception:  # what it raises for a step that does not converge
            return np.inf, np.full((M + 1, 3), np.nan)
        seconds = time.process_time() - begun
        return seconds, np.array([mbs.GetNodeOutput(n, exu.OutputVariableType.Position) for n in nodes])

    return run


def quickest(error: float, found: dict[str, list[tuple[float, float]]], who: str) -> tuple[float, str] | None:
    """Seconds and name of the quickest run of a program that keeps below an error."""
    runs = [(seconds, name) for name, series in found.items() if name.startswith(who) for seconds, e in series if e <= error]
    return min(runs, default=None)


def accuracy() -> None:
    """Seconds over error, Kreisel and Exudyn."""
    print(f"\nFlying spaghetti, Cosserat, up to t = {T_END} s: seconds, and error of the nodes in m")
    for M in (16, 64):
        limit = 10 / M / 100
        ours = {
            "Kreisel, RATTLie, exact": (kreisel_run(M, kr.RATTLie(), EXACT), [limit / k for k in (1.25, 2.5, 5)]),
            "Kreisel, RATTLie, frozen": (kreisel_run(M, kr.RATTLie(), FROZEN), [limit / k for k in (1.25, 2.5, 5)]),
            "Kreisel, RATTLie of order 4, exact": (kreisel_run(M, kr.Composition(kr.RATTLie(), 4), EXACT), [limit / k for k in (3, 6)]),
            "Kreisel, generalized-alpha, exact": (kreisel_run(M, kr.GeneralizedAlpha(0.9), EXACT), [0.02, 0.01, 0.005]),
            "Kreisel, generalized-alpha, frozen": (kreisel_run(M, kr.GeneralizedAlpha(0.9), FROZEN), [0.02, 0.01, 0.005]),
        }
        theirs = {
            "Exudyn, generalized-alpha, sparse": (exudyn_run(M, "GeneralizedAlpha"), [0.02, 0.01, 0.005]),
            "Exudyn, generalized-alpha, dense": (exudyn_run(M, "GeneralizedAlpha", "EXUdense"), [0.02, 0.01, 0.005]),
            "Exudyn, velocity Verlet": (exudyn_run(M, "VelocityVerlet"), [limit / k for k in (2, 4, 8)]),
            "Exudyn, Runge-Kutta 4": (exudyn_run(M, "RK44"), [limit / k for k in (1.25, 2.5, 5)]),
        }
        _, fine = kreisel_run(M, kr.Composition(kr.RATTLie(), 4), EXACT)(limit / 20)
        found = _measure(ours, fine)
        peer = exudyn_run(M, "RK44")
        if peer is not None:
            _, fine_peer = peer(limit / 16)
            found |= _measure(theirs, fine_peer)
            print(f"M = {M}: fine runs of Kreisel and Exudyn are {distance(fine, fine_peer):.2e} m apart")
        for name, series in found.items():
            print(f"  {name:36}" + "   ".join(f"{s:8.4f} s {e:9.2e} m" for s, e in series))
        for error in (2e-4, 2e-5, 2e-6):
            best = [run for who in ("Kreisel", "Exudyn") if (run := quickest(error, found, who))]
            line = f"  error below {error:g} m: " + "; ".join(f"{name} {seconds:.4f} s" for seconds, name in best)
            print(line + (f"; ratio {best[1][0] / best[0][0]:.1f}" if len(best) == 2 else ""))


def distance(a: np.ndarray, b: np.ndarray) -> float:
    """Root of the mean square of the distances of the nodes."""
    return float(np.sqrt(np.mean(np.sum((a - b) ** 2, axis=1))))


def _measure(runs: dict[str, Any], fine: np.ndarray) -> dict[str, list[tuple[float, float]]]:
    found: dict[str, list[tuple[float, float]]] = {}
    for name, (run, steps) in runs.items():
        series = []
        for h in steps:
            seconds, place = np.inf, fine
            for _ in range(3):
                once, place = run(h)
                seconds = min(seconds, once)
            series.append((seconds, distance(place, fine)))
        found[name] = series
    return found


def main() -> None:
    growth()
    accuracy()


if __name__ == "__main__":
    main()
