"""Problems of the IFToMM library of computational benchmarks, beside published values."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from kreisel.methods import BEM, GeneralizedAlpha, Ida, RATTLie
from kreisel.models.benchmark import SQUEEZER_START
from kreisel.studies.base import Result, end_of_run, study
from kreisel.studies.words import further, method_of, model_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from kreisel.methods import Method
    from kreisel.simulation import Newton, Solution

LIBRARY = "IFToMM library of computational benchmarks (González et al., Multibody Syst. Dyn. 16 (2006) 179)"

#: The simple pendulum at 10 s, and its period.
PENDULUM = {"x": -0.275087462576117, "y": -0.961419205099125, "period": 2.367841947576237}
#: The angles of the squeezer at 0.03 s (test set for initial value problem solvers).
SQUEEZER = {
    "beta": 15.81077119629904,
    "Theta": -15.75637105984298,
    "gamma": 0.04082224013073101,
    "Phi": -0.5347301163226948,
    "delta": 0.5244099658805304,
    "Omega": 0.5347301163226948,
    "epsilon": 1.048080741042263,
}


def _run(model: str, parameters: dict[str, Any], t_end: float, step: float, method: str | Method, newton: Newton | None = None) -> Solution:
    from kreisel.simulation import simulate

    solution = simulate(model_of(model, parameters), t_end, step, method_of(method), newton=newton)
    if not solution.success:
        raise ValueError(f"{model}: {solution.message}")
    return solution


def _energy_drift(solution: Solution) -> float:
    return float(np.abs(solution.energy - solution.energy[0]).max())


def _lines(solution: Solution, lines: dict[str, np.ndarray], ylabel: str) -> Result:
    """A result whose figure shows some lines over time and the energy."""

    def draw(figure: Figure) -> None:
        above, below = figure.subplots(2, 1, sharex=True)
        for name, y in lines.items():
            above.plot(solution.t, y, label=name)
        above.set_ylabel(ylabel)
        above.legend(fontsize=8)
        below.plot(solution.t, solution.balance - solution.balance[0])
        below.set(xlabel="t in s", ylabel="energy + losses - work - that at the start, in J")

    return Result({}, {"t": solution.t, **lines}, draw)


def _result(numbers: dict[str, Any], solution: Solution, lines: dict[str, np.ndarray], ylabel: str) -> Result:
    shown = _lines(solution, lines, ylabel)
    return Result({**numbers, **end_of_run(solution)}, shown.arrays, shown.draw)


@study("benchmark/iftomm-pendulum", source=f"{LIBRARY}, problem A01", further=further("pendulum"))
def pendulum(*, step: float = 0.01, t_end: float = 10.0, method: str = "Composition(RATTLie, 6)", **parameters: Any) -> Result:
    """The simple pendulum from the horizontal: position at 10 s beside the closed-form one."""
    solution = _run("pendulum", parameters, t_end, step, method)
    x = solution.position("bob")
    numbers = {"x": float(x[-1, 0]), "y": float(x[-1, 1]), "published": PENDULUM, "energy_drift": _energy_drift(solution)}
    return _result(numbers, solution, {"x": x[:, 0], "y": x[:, 1]}, "position in m")


@study("benchmark/iftomm-n-four-bar", source=f"{LIBRARY}, problem A02", further=further("n_four_bar"))
def n_four_bar(*, loops: int = 2, step: float = 0.001, t_end: float = 10.0, method: str = "BEM", **parameters: Any) -> Result:
    """A row of squares that falls over and swings round, through positions with N + 1 freedoms: energy kept, branch kept.

    Close to these positions multipliers are known to few digits only; Newton's tolerance is 1e-10. ``spread``: the largest difference
    between the angles of the uprights, which all must be equal.
    """
    from kreisel.simulation import Newton

    newton = Newton(atol=1e-10, rtol=1e-10)
    solution = _run("n_four_bar", parameters | {"loops": loops}, t_end, step, method, newton)
    angles = np.stack([solution.joint(f"A{k}").angle for k in range(loops + 1)], axis=1)
    numbers = {
        "angle_end": float(angles[-1, 0]),
        "turns": float(angles[-1, 0] / (2 * np.pi)),
        "spread": float(np.ptp(angles, axis=1).max()),
        "energy_drift": _energy_drift(solution),
        "microseconds_per_step": 1e6 * solution.stats.seconds / solution.stats.steps,
    }
    top = solution.position("upright 0") * 2
    return _result(numbers, solution, {"x of B0": top[:, 0], "y of B0": top[:, 1]}, "position in m")


@study(
    "benchmark/iftomm-squeezer", source=f"{LIBRARY}, problem A03; test set for initial value problem solvers", further=further("squeezer")
)
def squeezer(*, steps: int = 500, t_end: float = 0.03, method: str = "Composition(RATTLie, 6)", **parameters: Any) -> Result:
    """Andrews' squeezer mechanism: its seven angles at 0.03 s beside the published reference solution."""
    solution = _run("squeezer", parameters, t_end, t_end / steps, method)
    lines = {name: solution.joint(name).angle + start for name, start in zip(SQUEEZER, SQUEEZER_START, strict=True)}
    angles = {name: float(y[-1]) for name, y in lines.items()}
    numbers = {
        "angles": angles,
        "published": SQUEEZER,
        "largest_difference": max(abs(angles[name] - SQUEEZER[name]) for name in SQUEEZER),
        "balance_drift": float(np.abs(solution.balance - solution.balance[0]).max()),
    }
    return _result(numbers, solution, lines, "angle in rad")


@study("benchmark/iftomm-bricard", source=f"{LIBRARY}, problem A04", further=further("bricard"))
def bricard(*, step: float = 0.01, t_end: float = 10.0, method: str = "BEM", **parameters: Any) -> Result:
    """Bricard's mechanism, which moves in spite of its count of constraints: the redundant one is found; energy kept.

    ``difference``: of P3 at the end to a run of RATTLie on S3R3 with half the step.
    """
    solution = _run("bricard", parameters, t_end, step, method)
    other = _run("bricard", parameters | {"formulation": "S3R3"}, t_end, step / 2, RATTLie())
    P3, there = (2 * s.position("rod 3") - s.position("rod 2") - s.rotation("rod 2") @ np.array([0, -0.5, 0]) for s in (solution, other))
    numbers = {
        "redundant": list(solution.stats.redundant),
        "P3": P3[-1].tolist(),
        "difference": float(np.abs(P3[-1] - there[-1]).max()),
        "energy_drift": _energy_drift(solution),
    }
    return _result(numbers, solution, {f"P3, x{i + 1}": P3[:, i] for i in range(3)}, "position in m")


@study("benchmark/iftomm-governor", source=f"{LIBRARY}, problem A05", further=further("governor"))
def governor(*, step: float = 0.001, t_end: float = 10.0, **parameters: Any) -> Result:
    """The stiff flyball governor: height of the slider, by BEM, by generalized-alpha and by IDA of SUNDIALS beside each other.

    ``difference``: the largest one of the heights of BEM and of generalized-alpha with half the step, on S3R3. ``difference_ida``: that of
    BEM and IDA (tolerance 1e-8) in minimal coordinates; None without the extra "sundials", as ``ida`` then says. ``balance_drift``: of
    BEM, energy and losses.
    """
    solution = _run("governor", parameters, t_end, step, BEM())
    other = _run("governor", parameters | {"formulation": "S3R3"}, t_end, step / 2, GeneralizedAlpha())
    s, there = (0.5 + x.joint("rail").stroke for x in (solution, other))
    try:
        ida = _run("governor", parameters | {"formulation": "minimal"}, t_end, step, Ida(1e-8, 1e-10))
        difference_ida, words = float(np.abs(s - 0.5 - ida.joint("rail").stroke).max()), "compared"
    except ImportError as missing:
        difference_ida, words = None, f"not compared: {missing}"
    numbers = {
        "s_end": float(s[-1]),
        "s_min": float(s.min()),
        "s_max": float(s.max()),
        "difference": float(np.abs(s - there[::2]).max()),
        "difference_ida": difference_ida,
        "ida": words,
        "balance_drift": float(np.abs(solution.balance - solution.balance[0]).max()),
    }
    return _result(numbers, solution, {"s": s}, "height of the slider in m")
