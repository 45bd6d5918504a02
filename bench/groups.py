"""Batched group operations beside jaxlie and SciPy: a million elements, one run, ratios.

Every candidate gets the same numbers in the representation it prefers and is called until its results are there. Quaternions throughout,
double precision. jaxlie is compiled (jit) and warmed up. Reported: the best of many repetitions, taken in turns.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable

os.environ.setdefault("JAX_PLATFORMS", "cpu")

import jax
import jax.numpy as jnp
import jaxlie
import numpy as np
from scipy.spatial.transform import Rotation

from kreisel.groups import S3, S3R3

jax.config.update("jax_enable_x64", True)

N = 1_000_000
ROUNDS = 15


def best(candidates: dict[str, Callable[[], object]]) -> dict[str, float]:
    """Milliseconds of each candidate, the best of ROUNDS."""
    times = dict.fromkeys(candidates, np.inf)
    for _ in range(ROUNDS):
        for name, call in candidates.items():
            start = time.perf_counter()
            call()
            times[name] = min(times[name], 1e3 * (time.perf_counter() - start))
    return times


def report(title: str, times: dict[str, float]) -> None:
    print(f"{title}, {N:,} elements")
    fastest = min(t for name, t in times.items() if not name.startswith("kreisel"))
    for name, t in times.items():
        print(f"  {name:<28}{t:9.2f} ms   {t / fastest:6.2f} x the fastest other")
    print()


def main() -> None:
    rng = np.random.default_rng(1)
    v = rng.standard_normal((N, 6))
    p = S3.random(rng, N)
    # jaxlie's tangent has the translation first; its quaternions are (w, x, y, z), as ours.
    tangent = jax.device_put(np.concatenate([v[:, 3:], v[:, :3]], axis=1))
    quaternion = jax.device_put(p)
    exp = jax.jit(jax.vmap(lambda a: jaxlie.SE3.exp(a).wxyz_xyz))
    log = jax.jit(jax.vmap(lambda a: jaxlie.SO3(a).log()))
    exp_plain = jax.jit(lambda a: jaxlie.SE3.exp(a).wxyz_xyz)
    log_plain = jax.jit(lambda a: jaxlie.SO3(a).log())

    ours = S3R3.exp(v)
    gap = float(jnp.max(jnp.abs(exp(tangent) - ours)))
    report(
        f"exp of rigid motions (largest difference {gap:.1e})",
        best(
            {
                "kreisel S3R3.exp": lambda: S3R3.exp(v),
                "jaxlie SE3.exp": lambda: exp_plain(tangent).block_until_ready(),
                "jaxlie SE3.exp (vmap)": lambda: exp(tangent).block_until_ready(),
            }
        ),
    )
    # SciPy and jaxlie give the shorter of the two rotation vectors; ours is compared where they agree.
    same = p[:, 0] > 0
    rotation = Rotation.from_quat(p, scalar_first=True)
    gap = float(np.max(np.abs(np.asarray(log(quaternion))[same] - S3.log(p)[same])))
    report(
        f"log of rotations (largest difference {gap:.1e})",
        best(
            {
                "kreisel S3.log": lambda: S3.log(p),
                "jaxlie SO3.log": lambda: log_plain(quaternion).block_until_ready(),
                "jaxlie SO3.log (vmap)": lambda: log(quaternion).block_until_ready(),
                "scipy Rotation.as_rotvec": rotation.as_rotvec,
            }
        ),
    )
    w = v[:, :3]
    report(
        "exp of rotations",
        best(
            {
                "kreisel S3.exp": lambda: S3.exp(w),
                "scipy Rotation.from_rotvec": lambda: Rotation.from_rotvec(w),
            }
        ),
    )


if __name__ == "__main__":
    main()
