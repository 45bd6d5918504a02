"""The fast heavy top, simulated with two methods: a table of key figures, a picture and a scene for the browser.

Prints the table and writes ``out/top.png`` and ``out/top.html``.
"""

from pathlib import Path

import numpy as np

import kreisel as kr
from kreisel.view import plot_energy, plot_path, plot_violation, scene

top = kr.models.heavy_top(formulation="S3R3", spin="fast")
runs = [kr.simulate(top, until=2.0, step=2**-10, method=method) for method in (kr.RATTLie(), kr.GeneralizedAlpha(0.9))]


def table() -> str:
    lines = [f"{'method':<18}{'energy error':>14}{'violation':>12}{'Newton/step':>13}{'us/step':>9}"]
    for sol in runs:
        error, violation = np.abs(sol.energy / sol.energy[0] - 1).max(), sol.constraint_violation.max()
        cost = 1e6 * sol.stats.seconds / sol.stats.steps
        lines.append(f"{sol.method!s:<18}{error:14.1e}{violation:12.1e}{sol.stats.newton_iterations_mean:13.2f}{cost:9.2f}")
    return "\n".join(lines)


def picture(path: Path) -> None:
    """The path of the centre of mass, and what the methods keep of energy and constraints."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(11, 5), layout="constrained")
    left, right = figure.subfigures(1, 2)
    energy, violation = right.subplots(2, sharex=True)
    plot_path(runs[0], "top", left.add_subplot(projection="3d"))
    for sol in runs:
        plot_energy(sol, energy, change=True)
        plot_violation(sol, violation)
    energy.set_ylim(top=0.55)
    violation.set_ylim(1e-18, 1e-7)
    path.parent.mkdir(exist_ok=True)
    figure.savefig(path, dpi=130)


if __name__ == "__main__":
    print(table())
    picture(Path("out/top.png"))
    scene(runs[0], "out/top.html", title="Heavy top, RATTLie")
    print("\nwrote out/top.png and out/top.html")
