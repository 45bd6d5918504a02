"""Measurements and reproductions of published experiments, by name: ``reproduce("hante/rolling-disk")``."""

from typing import Any

from kreisel.studies import (
    beam_statics,
    crane,
    extended_top,
    flying_spaghetti,
    group_accuracy,
    gyro_top,
    hamiltonian_control,
    heavy_top,
    iftomm,
    mueller,
    oscillators,
    printed_tangents,
    roll_up,
    rolling_disk,
    rotation_generation,
    rotational_dynamics,
    satellite,
    satellite_control,
    shell,
    stability_region,
    steering,
    three_link,
    top_stability,
)
from kreisel.studies.base import STUDIES, Result, Study, find, study


def reproduce(name: str, **options: Any) -> Result:
    """Runs the study of the given name.

    >>> result = reproduce("klemps/soft-spring", damping=1.0)
    >>> round(result.numbers["table"]["alpha_end"][0], 4)
    -0.07
    """
    return find(name)(**options)


__all__ = [
    "STUDIES",
    "Result",
    "Study",
    "beam_statics",
    "crane",
    "extended_top",
    "find",
    "flying_spaghetti",
    "group_accuracy",
    "gyro_top",
    "hamiltonian_control",
    "heavy_top",
    "iftomm",
    "mueller",
    "oscillators",
    "printed_tangents",
    "reproduce",
    "roll_up",
    "rolling_disk",
    "rotation_generation",
    "rotational_dynamics",
    "satellite",
    "satellite_control",
    "shell",
    "stability_region",
    "steering",
    "study",
    "three_link",
    "top_stability",
]
