"""The flying spaghetti as three kinds of beam: a table of key figures, a picture of snapshots and a scene for the browser.

Prints a table and writes ``out/spaghetti.png`` and ``out/spaghetti.html``.
"""

from pathlib import Path

import numpy as np

import kreisel as kr
from kreisel.view import plot_energy, plot_snapshots, scene

variants = ("cosserat", "kirchhoff", "inextensible")
runs = {variant: kr.simulate(kr.models.flying_spaghetti(variant=variant), until=10.0, step=2**-10, every=16) for variant in variants}


def table() -> str:
    """After the load (t > 5 s) momenta and energy stay; the momentum is the integral of the load, (50, 0, 0)."""
    lines = [f"{'variant':<14}{'momentum':>22}{'its change':>12}{'energy':>10}{'its change':>12}{'violation':>11}{'us/step':>9}"]
    for variant, sol in runs.items():
        free = sol.t > 5
        p, E = sol.momentum[free], sol.energy[free]
        cost = 1e6 * sol.stats.seconds / sol.stats.steps
        lines.append(
            f"{variant:<14}{np.array2string(p[-1] + 0.0, precision=3, suppress_small=True):>22}{np.ptp(p, axis=0).max():12.1e}"
            f"{E[-1]:10.3f}{np.ptp(E):12.1e}{sol.constraint_violation.max():11.1e}{cost:9.1f}"
        )
    return "\n".join(lines)


def picture(path: Path) -> None:
    """Snapshots of the Kirchhoff beam, and the energies."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(11, 5), layout="constrained")
    left, right = figure.subfigures(1, 2)
    plot_snapshots(runs["kirchhoff"], 13, left.add_subplot(projection="3d"))
    plot_energy(runs["kirchhoff"], right.subplots())
    path.parent.mkdir(exist_ok=True)
    figure.savefig(path, dpi=130)


if __name__ == "__main__":
    print(table())
    picture(Path("out/spaghetti.png"))
    scene(runs["kirchhoff"], "out/spaghetti.html", title="Flying spaghetti, Kirchhoff beam, RATTLie")
    print("\nwrote out/spaghetti.png and out/spaghetti.html")
