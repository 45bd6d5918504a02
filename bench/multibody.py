"""A chain of 16 links on ball joints, and 40 four-bar loops in a row: microseconds per step of Kreisel beside Exudyn and MuJoCo.

First table of each: one step size for all, with the error of the energy at the end of the run, and that of the places of all bodies (root
of the mean square of the distances) against a fine run. Second table, of the chain: the quickest runs below a given error of places.

Kreisel: exact Newton to 1e-10, or a matrix kept as long as it serves, to 1e-12. Exudyn: the quickest of its settings found here
(generalized-alpha, rho = 0.9, sparse matrices, modified Newton at its default tolerance; nodes on the Lie group or with Euler parameters
for the chain, rigid bodies of the plane for the loops); full Newton beside it. MuJoCo: relative coordinates, contacts and constraints
switched off; Euler is its semi-implicit one. It has no loops but by soft constraints, so it only runs the chain. Kreisel's own minimal
coordinates are left out: their formulas grow so fast with the length of a chain that 16 links do not compile within minutes.

All times are wall clock, the best of several rounds taken in turns, without setting up. What is not installed is left out.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

import kreisel as kr

LINKS, CHAIN_END, CHAIN_STEP = 16, 1.0, 1e-3
#: The loops fall flat after 0.72 s.
LOOPS, LOOPS_END, LOOPS_STEP = 40, 0.5, 1e-3
EXACT, KEPT = kr.Newton(atol=1e-10, rtol=1e-10), kr.Newton(atol=1e-12, rtol=1e-12, matrix="frozen")
ROUNDS = 7


class Run(NamedTuple):
    """Seconds, places of all bodies at the end, and by how much the energy has changed."""

    seconds: float
    places: np.ndarray
    energy: float


FAILED = Run(np.inf, np.full((1, 3), np.nan), np.nan)
Candidate = Callable[[float], Run]


# Kreisel


def kreisel_run(system: kr.System, until: float, method: Any, newton: kr.Newton = EXACT) -> Candidate:
    def run(h: float) -> Run:
        steps = round(until / h)
        sol = kr.simulate(system, until, until / steps, method, newton=newton, every=steps)
        if not sol.success:
            return FAILED
        places = np.stack([sol.position(node.name)[-1] for node in system.bodies])
        return Run(sol.stats.seconds, places, abs(float(sol.energy[-1] - sol.energy[0])))

    return run


# Exudyn


def exudyn_run(
    build: Callable[[Any, Any], list[int]], until: float, inertia: np.ndarray, up: int, modified: bool = True
) -> Candidate | None:
    """``build``: adds a model to a system of Exudyn, and gives its bodies, all of mass 1 kg and the given inertia. ``up``: which axis."""
    try:
        import exudyn as exu
    except ImportError:
        return None

    def run(h: float) -> Run:
        container = exu.SystemContainer()
        mbs = container.AddSystem()
        bodies = build(exu, mbs)
        mbs.Assemble()

        def output(what: Any) -> np.ndarray:
            return np.array([mbs.GetObjectOutputBody(b, what, localPosition=[0, 0, 0]) for b in bodies])

        def energy() -> float:
            place, velocity = output(exu.OutputVariableType.Position), output(exu.OutputVariableType.Velocity)
            omega = output(exu.OutputVariableType.AngularVelocityLocal)
            return float(np.sum(velocity**2) / 2 + np.sum(omega**2 * inertia) / 2 + 9.81 * np.sum(place[:, up]))

        before = energy()
        steps = round(until / h)
        settings = exu.SimulationSettings()
        settings.timeIntegration.numberOfSteps = steps
        settings.timeIntegration.endTime = until
        settings.timeIntegration.verboseMode = 0
        settings.timeIntegration.generalizedAlpha.spectralRadius = 0.9
        settings.timeIntegration.newton.useModifiedNewton = modified
        settings.linearSolver.solverType = exu.LinearSolverType.EigenSparse
        settings.solution.file.write = False
        begun = time.perf_counter()
        try:
            mbs.SolveDynamic(settings, solverType=exu.DynamicSolverType.GeneralizedAlpha)
        except Exception:  # what it raises for a step that does not converge
            return FAILED
        seconds = time.perf_counter() - begun
        return Run(seconds, output(exu.OutputVariableType.Position), abs(energy() - before))

    return run


#: Moments of inertia of a link, a cylinder of 1 kg, 1 m and the radius 0.05 m, and of a thin bar.
LINK = np.array([0.05**2 / 2, (3 * 0.05**2 + 1) / 12, (3 * 0.05**2 + 1) / 12])
BAR = np.array([0, 0, 1 / 12])


def exudyn_chain(node: str) -> Callable[[Any, Any], list[int]]:
    def build(exu: Any, mbs: Any) -> list[int]:
        from exudyn.utilities import RigidBodyInertia

        before, bodies = mbs.CreateGround(), []
        for k in range(LINKS):
            body = mbs.CreateRigidBody(
                referencePosition=[k + 0.5, 0, 0],
                inertia=RigidBodyInertia(1.0, np.diag(LINK)),
                nodeType=getattr(exu.NodeType, node),
                gravity=[0, 0, -9.81],
            )
            mbs.CreateSphericalJoint(itemNumbers=[before, body], position=[k, 0, 0])
            bodies.append(body)
            before = body
        return bodies

    return build


def exudyn_loops(exu: Any, mbs: Any) -> list[int]:
    from exudyn import itemInterface as items

    ground = mbs.AddObject(items.ObjectGround(referencePosition=[0, 0, 0]))
    bodies: list[int] = []

    def bar(place: list[float], velocity: list[float]) -> int:
        node = mbs.AddNode(items.NodeRigidBody2D(referenceCoordinates=place, initialVelocities=velocity))
        body = mbs.AddObject(items.ObjectRigidBody2D(mass=1, inertia=1 / 12, nodeNumber=node))
        marker = mbs.AddMarker(items.MarkerBodyMass(bodyNumber=body))
        mbs.AddLoad(items.LoadMassProportional(markerNumber=marker, loadVector=[0, -9.81, 0]))
        bodies.append(body)
        return body

    def hinge(a: int, x_a: float, b: int, x_b: float) -> None:
        markers = [mbs.AddMarker(items.MarkerBodyPosition(bodyNumber=c, localPosition=[x, 0, 0])) for c, x in ((a, x_a), (b, x_b))]
        mbs.AddObject(items.ObjectJointRevolute2D(markerNumbers=markers))

    before = ground
    for k in range(LOOPS + 1):
        upright = bar([k, 0.5, np.pi / 2], [0.5, 0, -1])
        hinge(ground, k, upright, -0.5)
        if k:
            beam = bar([k - 0.5, 1, 0], [1, 0, 0])
            hinge(before, 0.5, beam, -0.5)
            hinge(beam, 0.5, upright, 0.5)
        before = upright
    return bodies


# MuJoCo


def mujoco_run(integrator: str) -> Candidate | None:
    try:
        import mujoco
    except ImportError:
        return None

    def run(h: float) -> Run:
        steps = round(CHAIN_END / h)
        link = f'<joint type="ball"/><inertial pos="0.5 0 0" mass="1" diaginertia="{" ".join(map(str, LINK))}"/>'
        links = "".join(f'<body pos="{min(k, 1)} 0 0">{link}' for k in range(LINKS)) + "</body>" * LINKS
        model = mujoco.MjModel.from_xml_string(
            f"""<mujoco><option timestep="{CHAIN_END / steps!r}" integrator="{integrator}" gravity="0 0 -9.81">
            <flag contact="disable" constraint="disable" energy="enable"/></option><worldbody>{links}</worldbody></mujoco>"""
        )
        data = mujoco.MjData(model)
        mujoco.mj_forward(model, data)
        before = data.energy.sum()
        begun = time.perf_counter()
        mujoco.mj_step(model, data, steps)
        seconds = time.perf_counter() - begun
        # It starts anew when it has become unstable.
        if abs(data.time - CHAIN_END) > h / 2:
            return FAILED
        mujoco.mj_forward(model, data)
        return Run(seconds, np.array(data.xipos[1:]), abs(float(data.energy.sum() - before)))

    return run


# Measuring


def measure(candidates: dict[str, tuple[Candidate | None, list[float]]], fine: np.ndarray) -> dict[str, list[tuple[float, Run, float]]]:
    """Per candidate and step size: step, the quickest of the runs, the error of its places."""
    jobs = [(name, run, h) for name, (run, steps) in candidates.items() if run is not None for h in steps]
    best: dict[tuple[str, float], Run] = {}
    for _ in range(ROUNDS):
        for name, run, h in jobs:
            new = run(h)
            old = best.get((name, h))
            best[name, h] = new if old is None or new.seconds < old.seconds else old
    found: dict[str, list[tuple[float, Run, float]]] = {}
    for (name, h), run in best.items():
        found.setdefault(name, []).append((h, run, distance(run.places, fine)))
    return found


def distance(a: np.ndarray, b: np.ndarray) -> float:
    """Root of the mean square of the distances of the bodies."""
    return float(np.sqrt(np.mean(np.sum((a - b) ** 2, axis=1))))


def at_one_step(title: str, candidates: dict[str, Candidate | None], until: float, h: float, fine: np.ndarray) -> None:
    print(f"{title}, {round(until / h):,} steps of {h} s")
    print(f"  {'':52}{'us per step':>12}{'energy [J]':>14}{'places [m]':>14}")
    for name, ((_, run, error),) in measure({name: (run, [h]) for name, run in candidates.items()}, fine).items():
        print(f"  {name:52}{1e6 * run.seconds * h / until:12.1f}{run.energy:14.1e}{error:14.1e}")


def chain() -> None:
    def ours(coordinates: str, method: Any, newton: kr.Newton = EXACT) -> Candidate:
        return kreisel_run(kr.models.chain(LINKS, coordinates), CHAIN_END, method, newton)

    fine = kreisel_run(kr.models.chain(LINKS, "S3R3"), CHAIN_END, kr.Composition(kr.RATTLie(), 6))(CHAIN_END / 100).places
    alpha, rattle, fourth = kr.GeneralizedAlpha(0.9), kr.RATTLie(), kr.Composition(kr.RATTLie(), 4)
    exudyn = {
        "Exudyn, generalized-alpha, Euler parameters": exudyn_run(exudyn_chain("RotationEulerParameters"), CHAIN_END, LINK, 2),
        "Exudyn, generalized-alpha, Lie group": exudyn_run(exudyn_chain("RotationRotationVector"), CHAIN_END, LINK, 2),
        "Exudyn, generalized-alpha, Lie group, full Newton": exudyn_run(exudyn_chain("RotationRotationVector"), CHAIN_END, LINK, 2, False),
    }
    mujoco = {f"MuJoCo, {name}": mujoco_run(name) for name in ("Euler", "implicitfast", "implicit", "RK4")}
    at_one_step(
        f"Chain of {LINKS} links on ball joints",
        {
            "Kreisel, RATTLie, S3xR3": ours("S3xR3", rattle),
            "Kreisel, RATTLie, S3R3": ours("S3R3", rattle),
            "Kreisel, RATTLie, directors": ours("directors", rattle),
            "Kreisel, generalized-alpha, S3xR3": ours("S3xR3", alpha),
            "Kreisel, generalized-alpha, S3xR3, kept matrix": ours("S3xR3", alpha, KEPT),
            "Kreisel, generalized-alpha, directors, kept matrix": ours("directors", alpha, KEPT),
            "Kreisel, BEM, directors": ours("directors", kr.BEM()),
            "Kreisel, BEM, directors, kept matrix": ours("directors", kr.BEM(), KEPT),
            "Kreisel, RATTLie of order 4, S3R3": ours("S3R3", fourth),
            **exudyn,
            **mujoco,
        },
        CHAIN_END,
        CHAIN_STEP,
        fine,
    )
    steps = [CHAIN_END / n for n in (20, 40, 80, 160, 320, 640, 1280)]
    found = measure(
        {
            "Kreisel, RATTLie, S3R3": (ours("S3R3", rattle), steps),
            "Kreisel, generalized-alpha, S3xR3, kept matrix": (ours("S3xR3", alpha, KEPT), steps),
            "Kreisel, RATTLie of order 4, S3R3": (ours("S3R3", fourth), steps[:4]),
            "Exudyn, generalized-alpha, Euler parameters": (exudyn["Exudyn, generalized-alpha, Euler parameters"], steps),
            "MuJoCo, Euler": (mujoco["MuJoCo, Euler"], [*steps, CHAIN_END / 20_000]),
            "MuJoCo, implicit": (mujoco["MuJoCo, implicit"], steps),
            "MuJoCo, RK4": (mujoco["MuJoCo, RK4"], steps[:5]),
        },
        fine,
    )
    print("  the quickest below an error of places [ms, with the error of the energy in J]:")
    for limit in (5e-2, 5e-3, 5e-4, 5e-5, 5e-6):
        line = []
        for name, series in found.items():
            runs = [(run.seconds, h, run.energy) for h, run, error in series if error <= limit]
            if runs:
                seconds, h, energy = min(runs)
                line.append((seconds, f"{name} {1e3 * seconds:.2f} (h = {h:.3g}, {energy:.0e})"))
        print(f"  {limit:6.0e} m: " + "\n            ".join(text for _, text in sorted(line)))


def loops() -> None:
    def ours(method: Any, newton: kr.Newton = EXACT) -> Candidate:
        return kreisel_run(kr.models.n_four_bar(LOOPS), LOOPS_END, method, newton)

    fine = ours(kr.Composition(kr.RATTLie(), 6))(LOOPS_END / 100).places
    # Exudyn numbers uprights and beams as our model does.
    alpha = kr.GeneralizedAlpha(0.9)
    print()
    at_one_step(
        f"{LOOPS} four-bar loops in a row",
        {
            "Kreisel, RATTLie, directors": ours(kr.RATTLie()),
            "Kreisel, generalized-alpha, directors": ours(alpha),
            "Kreisel, generalized-alpha, directors, kept matrix": ours(alpha, KEPT),
            "Kreisel, BEM, directors": ours(kr.BEM()),
            "Kreisel, BEM, directors, kept matrix": ours(kr.BEM(), KEPT),
            "Exudyn, generalized-alpha": exudyn_run(exudyn_loops, LOOPS_END, BAR, 1),
            "Exudyn, generalized-alpha, full Newton": exudyn_run(exudyn_loops, LOOPS_END, BAR, 1, False),
        },
        LOOPS_END,
        LOOPS_STEP,
        fine,
    )


def main() -> None:
    chain()
    loops()


if __name__ == "__main__":
    main()
