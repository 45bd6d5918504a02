"""What runs of systems with equal formulas share: tables, kernels, monitors. Only numbers are new from run to run."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable
from functools import cached_property
from threading import RLock
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kreisel.mechanics.fingerprint import fingerprint, look
from kreisel.mechanics.system import System
from kreisel.methods.base import Method
from kreisel.methods.starts import Accelerations, ProjectPosition, ProjectVelocity
from kreisel.simulation.monitors import Monitors
from kreisel.simulation.packs import Layout
from kreisel.simulation.program import Looks, Program, Record

Array = NDArray[np.float64]

#: So many things made of formulas are kept, those used last.
KEPT = 64

#: CasADi counts references without locks: expressions are built by one thread at a time.
SYMBOLS = RLock()


class Prepared:
    """A system and a method as programs: ``main`` for all steps, ``opening`` for the first if it is another one.

    Without ``steps``, as for a solver of others, there are no such programs, only what completes a start.
    """

    main: Program
    opening: Program | None

    def __init__(
        self, layout: Layout, guess: Any = "extrapolated", solver: str = "auto", events: tuple[Any, ...] = (), steps: bool = True
    ) -> None:
        method = layout.method
        self.layout, self.method = layout, method
        self.size = layout.size
        if steps:
            self.main = Program(layout, method.stages, guess, solver, events)
            self.opening = Program(layout, method.opening, guess, solver) if method.opening else None
            #: Numbers in the vector S.
            self.size = max(self.main.size, self.opening.size if self.opening else 0)
        self.monitors = Monitors(layout)
        self._others: dict[str, Program] = {}
        self._warm = False

    def warm(self) -> None:
        """Compiles what threads will share, so that none of them has to."""
        if self._warm:
            return
        with SYMBOLS:
            S = self.layout.start()[None]
            for name in ("constraint", "constraint_rate", "pfaffian"):
                self.monitors.rows(name, S)
            if self.method.needs_acceleration:
                self.program("accelerations")
            assert self.energies
            self._warm = True

    @cached_property
    def energies(self) -> Looks:
        """To look at kinetic and potential energy after every step."""
        return self.monitors.looks(_ENERGIES, every=len(self.method.substeps()))

    def energy(self, record: Record) -> Array:
        """The total energy at all times of such a record."""
        kinetic, potential = self.monitors.totals(_ENERGIES, record.values())
        return np.asarray(kinetic + potential)

    def program(self, name: str) -> Program:
        """What completes a start: "accelerations" (and multipliers), or "projection" onto the constraints."""
        with SYMBOLS:
            if name not in self._others:
                stages = (Accelerations(*self.method.acceleration_targets),) if name == "accelerations" else _PROJECTION
                self._others[name] = Program(self.layout, stages, steps=False)
            return self._others[name]


_ENERGIES = "kinetic", "potential"
_PROJECTION = ProjectPosition(), ProjectVelocity()
_kept: OrderedDict[Hashable, Any] = OrderedDict()


def kept(system: System, what: Hashable, make: Callable[[], Any]) -> Any:
    """What ``make`` gives for a system and everything else that ``what`` tells apart; or what it gave for one with the same formulas."""
    with SYMBOLS:
        formulas = fingerprint(system)
        key = formulas, what
        if formulas is None or not hashable(key):
            return make()
        if key not in _kept:
            _kept[key] = make()
            while len(_kept) > KEPT:
                _kept.popitem(last=False)
        _kept.move_to_end(key)
        return _kept[key]


def prepare(system: System, method: Method, guess: Any = "extrapolated", solver: str = "auto") -> Prepared:
    """The programs of a system and a method; those of a system with the same formulas, if there was one before.

    >>> import kreisel as kr
    >>> a, b = (kr.models.extended_top("SE3", stiffness=k) for k in (10.0, 20.0))
    >>> prepare(a, kr.RATTLie()) is prepare(b, kr.RATTLie())
    True
    """
    made: Prepared = kept(system, (method, look(guess), solver), lambda: Prepared(Layout(system, method), guess, solver))
    return made


def hashable(key: Any) -> bool:
    """A method of one's own may hold lists and the like."""
    try:
        hash(key)
    except TypeError:
        return False
    return True
