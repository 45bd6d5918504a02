"""sweep(): many simulations over a design of parameters."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, Future, ThreadPoolExecutor, wait
from contextlib import contextmanager, nullcontext
from functools import cache
from importlib.metadata import version
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from kreisel.methods import Method, RATTLie
from kreisel.simulation.newton import Newton
from kreisel.sweeps.design import Columns, Design, design_of
from kreisel.sweeps.job import Job, Measure, evaluate
from kreisel.sweeps.journal import Answer, Journal

if TYPE_CHECKING:
    import xarray

#: A worker gets points for about so long at a time, and at most so many.
PORTION_SECONDS, PORTION_POINTS = 0.2, 4096
SWITCH_SECONDS = 2e-4


def sweep(
    model: Any,
    design: Design | Mapping[str, Iterable[Any]],
    *,
    until: float | None = None,
    step: float | None = None,
    method: Method | type[Method] | None = None,
    newton: Newton | None = None,
    measure: Measure | None = None,
    executor: Any = None,
    workers: int | None = None,
    store: str | os.PathLike[str] | None = None,
    progress: bool = False,
) -> xarray.Dataset:
    """Simulates a model at all points of a design and gives one labelled Dataset.

    ``model``: a function of parameters that makes a system, such as ``kr.models.extended_top``, or a system. ``design``: a
    :class:`Design`, or a dictionary of values, which is a grid. Its parameters are those of the model, of the method, ``step``,
    ``until``, or ``method`` itself. ``measure``: a function of a solution that gives named numbers or arrays; besides, there are always
    ``status``, ``message``, ``t_end``, ``steps``, ``newton_iterations``, ``energy_start``, ``energy_end``, ``energy_max`` and
    ``energy_rise`` (:func:`kreisel.simulation.many.figures`). Without a measure the runs are compiled from beginning to end, and threads
    run side by side.

    ``executor``: where to work: by default ``workers`` threads (as many as there are processors); or a Dask client, or any executor of
    ``concurrent.futures``; what it is given must then be known to the workers, so models and measures are functions of a module. The
    answers do not depend on it, bit for bit. ``store``: a directory; what is done is kept there, and a sweep that was killed goes on
    where it was (functions are known by their names: what changes within one is not noticed). ``progress``: show a bar.

    What fails at a point is data: its ``status`` and ``message`` say why, its numbers are nan.

    >>> import kreisel as kr
    >>> data = kr.sweep(kr.models.extended_top, {"damping": [0, 1], "step": [0.01, 0.02, 0.04]}, until=1.0, method=kr.GeneralizedAlpha())
    >>> data.energy_end.dims, bool((data.energy_end.sel(damping=1) < data.energy_end.sel(damping=0)).all())
    (('damping', 'step'), True)
    """
    points = design_of(design)
    method = RATTLie() if method is None else method() if isinstance(method, type) else method
    if not isinstance(method, Method):
        raise TypeError(f"method must be a method such as kr.RATTLie(), got {method!r}")
    job = Job(model, method, Newton() if newton is None else newton, until, step, measure)
    job.check(points.names)
    words = job.words()
    found: list[tuple[Sequence[int], Columns]] = []
    with (
        Journal(store, words | {"design": points.digest()}) if store is not None else nullcontext() as journal,
        _bar(len(points), progress) as show,
    ):
        known = {} if journal is None else journal.done
        if known:
            found.append((list(known), _columns(list(known.values()))))
        done = len(known)
        show(done)
        left = [i for i in range(len(points)) if i not in known]
        try:
            for numbers, answers in _answers(job, points, left, executor, workers):
                if journal is not None:
                    journal.add(numbers, answers)
                found.append((numbers, answers))
                done += len(numbers)
                show(done)
        except (BrokenExecutor, _WorkerDied) as error:
            kept = f"; the {done} finished points are kept in '{store}': the same call goes on from there" if store else ""
            raise RuntimeError(f"a worker died with {len(points) - done} points to do{kept} ({error})") from error
    data = _dataset(points, found, words)
    data.attrs["points_computed"], data.attrs["points_known"] = len(left), len(known)
    return data


class _WorkerDied(RuntimeError):
    """A worker of a cluster is gone."""


def _answers(job: Job, design: Design, left: list[int], executor: Any, workers: int | None) -> Iterator[tuple[list[int], Columns]]:
    """The answers of the points that are left, some at a time, as they come."""
    if not left:
        return
    if executor is None:
        count: int = (os.cpu_count() or 1) if workers is None else workers
        if count < 1:
            raise ValueError(f"workers must be at least 1, got {workers}")
        pool: Any = ThreadPoolExecutor(count)
    else:
        # A Dask client can be seen as an executor like those of the standard library.
        pool = executor.get_executor(pure=False) if hasattr(executor, "get_executor") else executor
        count = workers or (len(executor.nthreads()) if hasattr(executor, "nthreads") else int(getattr(pool, "_max_workers", 2)))
    # A thread that comes back from compiled code waits so long for the interpreter, at most.
    patience = sys.getswitchinterval()
    sys.setswitchinterval(min(patience, SWITCH_SECONDS))
    running: dict[Future[Any], list[int]] = {}
    size, at = 1, 0
    try:
        while at < len(left) or running:
            while at < len(left) and len(running) < 2 * count:
                # The last portions are smaller, so that all workers end together.
                some = left[at : at + max(1, size // 16, min(size, (len(left) - at) // (2 * count)))]
                at += len(some)
                running[pool.submit(_timed, job, design.some(some))] = some
            ready, _ = wait(running, return_when=FIRST_COMPLETED)
            for future in ready:
                some = running.pop(future)
                try:
                    found, seconds = future.result()
                except BrokenExecutor:
                    raise
                except Exception as error:
                    if type(error).__name__ in ("KilledWorker", "CancelledError", "FutureCancelledError"):
                        raise _WorkerDied(str(error)) from error
                    raise
                wanted = PORTION_SECONDS / max(seconds / len(some), 1e-9)
                size = int(min(max(wanted, 1), 8 * size, PORTION_POINTS))
                yield some, found
    finally:
        sys.setswitchinterval(patience)
        for future in running:
            future.cancel()
        if executor is None:
            pool.shutdown(wait=True, cancel_futures=True)


def _timed(job: Job, points: Columns) -> tuple[Columns, float]:
    begun = time.perf_counter()
    answers = evaluate(job, points)
    return answers, time.perf_counter() - begun


def _columns(rows: list[Answer]) -> Columns:
    return {name: [row.get(name) for row in rows] for name in dict.fromkeys(name for row in rows for name in row)}


def _dataset(design: Design, found: list[tuple[Sequence[int], Columns]], words: dict[str, str]) -> xarray.Dataset:
    """All answers as labelled arrays; what a point does not have is nan, or an empty word."""
    import xarray

    order = np.argsort(np.concatenate([np.array(numbers, dtype=np.int64) for numbers, _ in found]))
    data = {}
    for name in dict.fromkeys(name for _, answers in found for name in answers):
        each = (answers.get(name) or [None] * len(numbers) for numbers, answers in found)
        values = list(chain.from_iterable(each))
        if all(v is None for v in values):
            continue
        column = _column(name, values)[order]
        shape = column.shape[1:]
        extra = tuple(f"{name}_{k}" for k in range(len(shape)))
        data[name] = ((*design.dimensions, *extra), column.reshape(*design.shape, *shape), _UNITS.get(name, {}))
    return xarray.Dataset(data, coords=design.coordinates(), attrs=words | {"kreisel_version": _version()})


@cache
def _version() -> str:
    return version("kreisel")


def _column(name: str, values: list[Any]) -> NDArray[Any]:
    """Words, whole numbers, numbers, or arrays of them, as one array."""
    kinds = set(map(type, values))
    if str in kinds:
        return np.array(["" if v is None else v for v in values])
    if list in kinds:
        shapes = {np.shape(v) for v in values if v is not None}
        if len(shapes) > 1:
            raise ValueError(f"the measure '{name}' has not the same shape at all points: {sorted(shapes)}")
        empty = np.full(shapes.pop(), np.nan)
        values = [empty if v is None else v for v in values]
    return np.array(values, dtype=np.int64 if kinds == {int} else np.float64)


_UNITS = {name: {"units": "J"} for name in ("energy_start", "energy_end", "energy_max", "energy_rise")} | {"t_end": {"units": "s"}}


@contextmanager
def _bar(total: int, progress: bool) -> Iterator[Any]:
    """Shows how many points are done."""
    if not progress:
        yield lambda done: None
        return
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TimeRemainingColumn

    with Progress("sweeping", BarColumn(), MofNCompleteColumn(), TimeRemainingColumn()) as bar:
        task = bar.add_task("sweeping", total=total)
        yield lambda done: bar.update(task, completed=done)
