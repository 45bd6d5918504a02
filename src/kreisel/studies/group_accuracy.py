"""The accuracy of the groups' operators, as a study."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from kreisel.groups import S3, S3R3, SE3, SO3, UDQ
from kreisel.names import check_names
from kreisel.studies.base import Result, study

if TYPE_CHECKING:
    from matplotlib.figure import Figure

GROUPS = {str(g): g for g in (SO3, S3, SE3, S3R3, UDQ)}


@study("kreisel/group-accuracy", source="own measurement against arithmetic with 130 digits; compare Hante, Appendix B")
def group_accuracy(*, groups: tuple[str, ...] = tuple(GROUPS), samples: int = 3, seed: int = 1) -> Result:
    """Relative errors of exp, log, T, its inverse and S of the groups, from tiny angles to the end of the range.

    ``samples``: angles per part of the range.
    """
    from kreisel.studies.accuracy import accuracy

    groups = (groups,) if isinstance(groups, str) else tuple(groups)
    check_names(groups, GROUPS, "there is no group")
    found = {name: accuracy(GROUPS[name], samples=int(samples), seed=int(seed)) for name in groups}
    numbers = {name: {operator: vars(e) for operator, e in operators.items()} for name, operators in found.items()}
    worst = {kind: max(e[kind] for o in numbers.values() for e in o.values()) for kind in ("value", "derivative", "value_at_end")}
    operators = list(found[groups[0]])

    def draw(figure: Figure) -> None:
        axes = figure.subplots()
        for k, name in enumerate(groups):
            at = np.arange(len(operators)) + 0.15 * (k - len(groups) / 2)
            axes.bar(at, [found[name][o].value for o in operators], width=0.15, label=name)
            axes.plot(at, [found[name][o].derivative for o in operators], "kx", label=None if k else "derivative")
        axes.axhline(np.finfo(float).eps, color="k", linewidth=0.8, linestyle=":", label="spacing of numbers at 1")
        axes.set_xticks(range(len(operators)), operators)
        axes.set(xlabel="operator", ylabel="largest relative error")
        axes.legend(fontsize=8)

    return Result({"groups": numbers, "worst": worst}, {}, draw)
