"""A manipulator moved from rest to rest with the least effort: by three transcriptions, with figures, a plot and a browser scene."""

from pathlib import Path

import numpy as np

import kreisel as kr

out = Path("out")
out.mkdir(exist_ok=True)

# Joint angles count from the start: the forearm comes up by a right angle, the hand stretches out.
stretched = kr.Target({"shoulder": 0.0, "elbow": np.pi / 2, "wrist": -np.pi / 2}, rates="rest")
results = {}
for formulation, method in (("directors", kr.BEM()), ("directors", kr.REM()), ("minimal", kr.GC())):
    arm = kr.models.three_link(formulation)
    problem = kr.OptimalControl(arm, horizon=3.0, steps=20, end=stretched, cost=kr.effort())
    results[str(method)] = problem.solve(method)


def table() -> str:
    lines = ["", f"{'':6s} {'effort':>14s} {'iterations':>10s} {'KKT residual':>13s} {'energy balance':>15s} {'spread of H':>12s}"]
    for name, res in results.items():
        balance = np.ptp(res.solution.balance)
        spread = np.ptp(res.hamiltonian)
        lines.append(f"{name:6s} {res.cost:14.4f} {res.iterations:10d} {res.kkt_residual:13.1e} {balance:13.1e} J {spread:12.4g}")
    return "\n".join(lines)


if __name__ == "__main__":
    print("A three-link manipulator, 3 s from rest to rest with the least effort, 20 steps:")
    print(table())
    kr.view.scene(results["BEM"].solution, out / "manipulator.html")
    kr.view.plot(results["BEM"])[0].figure.savefig(out / "manipulator.png", dpi=130)
    print(f"\nwrote {out / 'manipulator.html'} and {out / 'manipulator.png'}")
