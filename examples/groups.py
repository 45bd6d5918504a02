"""The groups at work: laws and accuracy as measured here and now, and a picture of interpolated motions.

Prints a table and writes ``out/groups.png``.
"""

from pathlib import Path

import matplotlib
import numpy as np

from kreisel import S3, S3R3, SE3, SO3, UDQ, Group, R, convert
from kreisel.studies.accuracy import accuracy

GROUPS = [R(3), SO3, S3, SE3, S3R3, UDQ, SO3 * R(3), S3 * R(3)]


def laws(G: Group, n: int = 1000) -> float:
    """The largest gap in associativity, q q^-1 = e, exp(log q) = q and q exp(v) = exp(Ad v) q, over n random elements."""
    p, q, r = (G.random(seed, n) for seed in (1, 2, 3))
    v = 0.5 * np.random.default_rng(4).standard_normal((n, G.dim))
    gaps = [
        G.compose(G.compose(p, q), r) - G.compose(p, G.compose(q, r)),
        G.compose(q, G.inverse(q)) - G.identity(),
        G.exp(G.log(G.exp(v))) - G.exp(v),
        G.compose(q, G.exp(v)) - G.compose(G.exp(np.einsum("nij,nj->ni", G.Ad(q), v)), q),
    ]
    return float(max(np.abs(g).max() for g in gaps))


def table() -> str:
    lines = [
        "Largest gap in the group laws, and largest normwise relative errors of the operators (value / first derivative)",
        "against 130-digit arithmetic, for angles from 1e-12 to the end of the range; see kreisel.studies.accuracy.",
        "",
        f"{'group':<14}{'laws':>9}" + "".join(f"{name:>19}" for name in ("exp", "log", "T", "Tinv", "S")),
    ]
    for G in GROUPS:
        errors = accuracy(G, samples=5)
        lines.append(f"{G!r:<14}{laws(G):9.1e}" + "".join(f"{f'{e.value:.1e} / {e.derivative:.1e}':>19}" for e in errors.values()))
    return "\n".join(lines)


def picture(path: Path) -> None:
    """One motion between the same two poses, with constant velocity in the semidirect and in the direct product."""
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    tau = np.linspace(0, 1, 13)
    figure = plt.figure(figsize=(9, 4.2), layout="constrained")
    for k, (G, title) in enumerate([(SE3, "SE3: a screw motion"), (SO3 * R(3), "SO3 * R(3): turn and move apart")]):
        start, stop = convert(SE3.identity(), SE3, G), convert(np.r_[SO3.exp([0, 0, 2.8]), 2, 1, 0.5], SE3, G)
        poses = SE3.matrix(convert(G.interpolate(start, stop, tau), G, SE3))
        x = poses[:, :3, 3]
        ax = figure.add_subplot(1, 2, k + 1, projection="3d")
        ax.plot(*x.T, color="0.6", lw=1)
        for j, color in enumerate(("#c0392b", "#27ae60", "#2980b9")):
            tip = x + 0.35 * poses[:, :3, j]
            for a, b in zip(x, tip, strict=True):
                ax.plot(*np.stack([a, b]).T, color=color, lw=1.8)
        ax.set(title=title, xlabel="x", ylabel="y", zlabel="z")
        ax.set_box_aspect(np.ptp(np.concatenate([x - 0.4, x + 0.4]), axis=0))
        ax.locator_params(nbins=4)
    path.parent.mkdir(exist_ok=True)
    figure.savefig(path, dpi=130)


if __name__ == "__main__":
    print(table())
    picture(Path("out/groups.png"))
    print("\nwrote out/groups.png")
