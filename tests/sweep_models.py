"""A sweep that several processes know: models, a measure, a design."""

import os
import time

import numpy as np

import kreisel as kr

DESIGN = {"damping": np.linspace(0, 50, 10), "stiffness": np.linspace(1e3, 5e4, 10), "step": [0.01, 0.015, 0.02, 0.025, 0.03]}
COMMON = {"until": 1.0, "method": kr.GeneralizedAlpha()}


def logged(damping, stiffness):
    """A model that says, in a file, when it is made."""
    log = os.environ.get("KREISEL_TEST_LOG")
    if log:
        with open(log, "a") as file:
            file.write(f"{damping!r} {stiffness!r}\n")
    return kr.models.extended_top("SO3", damping=damping, stiffness=stiffness, alpha=np.pi / 20)


def slow(sol):
    time.sleep(0.01)
    return {"twist": float(sol.velocity("top")[-1, 0])}


def deadly(damping):
    if damping > 3:
        os._exit(1)
    return kr.models.extended_top("SO3", damping=damping)
