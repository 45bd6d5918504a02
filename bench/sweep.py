"""How many trajectories per second: a stability region of the extended top over (damping, stiffness, step), in one and two threads, and on
a local Dask cluster of two processes, whose results must be equal bit for bit.

Run: python bench/sweep.py [--dask] [SO3 | SE3 | SO3xR3]
"""

import sys
import time

import numpy as np

from kreisel.studies.extended_top import GAMMA, newton_of_thesis
from kreisel.studies.stability_region import region

DAMPING = np.linspace(0, 500, 16)
STIFFNESS = np.linspace(1e4, 1e5, 17)
STEPS = np.round(0.01 + 0.0025 * np.arange(37), 10)
ROUNDS = 5
FORMULATION = next((word for word in sys.argv[1:] if not word.startswith("-")), "SO3")


def run(**options):
    newton = newton_of_thesis(1e-8, 1e-6, 20, "extrapolated")
    common = {"alpha": np.pi / 20, "gamma": GAMMA, "inertia": "corrected", "t_end": 5.0, "rho_inf": 0.9, "newton": newton}
    begun, cpu = time.perf_counter(), time.process_time()
    data = region(FORMULATION, DAMPING, STIFFNESS, STEPS, **common, **options)
    return data, time.perf_counter() - begun, time.process_time() - cpu


def same(a, b) -> bool:
    """Bit for bit, nan included."""
    return all(np.array_equal(a[name].values, b[name].values, equal_nan=a[name].dtype.kind == "f") for name in a)


def main() -> None:
    first, *_ = run(workers=1)  # compiles
    best = {1: np.inf, 2: np.inf}
    ratios = []
    for _ in range(ROUNDS):
        seconds = {}
        for workers in best:
            data, seconds[workers], cpu = run(workers=workers)
            best[workers] = min(best[workers], seconds[workers])
            assert same(first, data), "threads must not change results"
            print(f"  {workers} thread{'s' * (workers > 1)}: {seconds[workers]:6.2f} s, processor {cpu:6.2f} s", flush=True)
        ratios.append(seconds[1] / seconds[2])
    points, steps = first["status"].size, int(first["steps"].sum())
    print(f"Stability region of the extended top, {FORMULATION}: {points:,} trajectories, {steps:,} steps; best of {ROUNDS}")
    for workers, t in best.items():
        print(f"  {workers} thread{'s' * (workers > 1)}: {t:6.2f} s, {points / t:8,.0f} trajectories/s, {steps / t:10,.0f} steps/s")
    print(f"  scaling {best[1] / best[2]:.2f} (best times), {max(ratios):.2f} (best pair)")
    if "--dask" in sys.argv:
        from distributed import Client, LocalCluster

        with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster, Client(cluster) as client:
            run(executor=client)
            data, t, _ = run(executor=client)
            print(f"  Dask, 2 processes: {t:6.2f} s, {points / t:8,.0f} trajectories/s, equal bit for bit: {same(first, data)}")


if __name__ == "__main__":
    main()
