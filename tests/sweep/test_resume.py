"""Kills, workers that die, and who else may do the work: nothing lost, nothing computed twice, equal results."""

import json
import signal
import subprocess
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import numpy as np
import pytest
from sweep_models import COMMON, DESIGN, deadly, logged, slow

import kreisel as kr


def same(a, b):
    return set(a) == set(b) and all(
        np.array_equal(a[n].values, b[n].values, equal_nan=a[n].dtype.kind == "f") for n in a
    )  # bit for bit, nan included


SCRIPT = """
import sys
sys.path.insert(0, {tests!r})
from sweep_models import COMMON, DESIGN, logged, slow
import kreisel as kr
kr.sweep(logged, DESIGN, **COMMON, measure=slow, store={store!r}, workers=2)
"""


def lines(path):
    return path.read_bytes().count(b"\n") if path.exists() else 0


def test_a_killed_sweep_goes_on(tmp_path):
    """kill -9 in the middle; then the points that are on disk are not computed again, and the result is that of a sweep in one go."""
    store = tmp_path / "store"
    script = SCRIPT.format(tests=str(Path(__file__).parents[1]), store=str(store))
    process = subprocess.Popen([sys.executable, "-c", script])
    try:
        journal = store / "points.jsonl"
        deadline = time.monotonic() + 120
        while lines(journal) < 60:
            assert process.poll() is None, "the sweep ended too early"
            assert time.monotonic() < deadline
            time.sleep(0.01)
    finally:
        process.send_signal(signal.SIGKILL)
        process.wait()
    known = lines(journal)
    assert 60 <= known < 500
    with open(journal, "ab") as file:  # a line that the kill cut off
        file.write(b'[499, {"status": "REACH')
    resumed = kr.sweep(logged, DESIGN, **COMMON, measure=slow, store=store, workers=2)
    assert resumed.attrs["points_known"] == known
    assert resumed.attrs["points_computed"] == 500 - known
    numbers = [json.loads(line)[0] for line in journal.read_text().splitlines()]
    assert sorted(numbers) == list(range(500))  # every point once, none twice
    assert same(resumed, kr.sweep(logged, DESIGN, **COMMON, measure=slow, workers=2))


def test_what_is_known_is_not_computed(tmp_path, monkeypatch):
    store, log = tmp_path / "store", tmp_path / "log"
    monkeypatch.setenv("KREISEL_TEST_LOG", str(log))
    first = kr.sweep(logged, DESIGN, **COMMON, store=store)
    made = lines(log)
    assert made >= 100
    again = kr.sweep(logged, DESIGN, **COMMON, store=store)
    assert lines(log) == made  # no model was made
    assert again.attrs["points_computed"] == 0
    assert same(first, again)


def test_another_design_is_refused_and_nothing_lost(tmp_path):
    kr.sweep(logged, DESIGN, **COMMON, store=tmp_path / "a")
    before = (tmp_path / "a" / "points.jsonl").read_bytes()
    with pytest.raises(ValueError, match="holds another sweep, with another design; its points are kept"):
        kr.sweep(logged, DESIGN | {"step": [0.01]}, **COMMON, store=tmp_path / "a")
    with pytest.raises(ValueError, match="another method"):
        kr.sweep(logged, DESIGN, until=1.0, method=kr.RATTLie(), store=tmp_path / "a")
    assert (tmp_path / "a" / "points.jsonl").read_bytes() == before


def test_one_process_at_a_time(tmp_path):
    pytest.importorskip("fcntl")
    from kreisel.sweeps.journal import Journal

    with Journal(tmp_path, {"design": 1}), pytest.raises(ValueError, match="another process works on the sweep"):
        Journal(tmp_path, {"design": 1})


def test_processes_give_the_same(tmp_path):
    threads = kr.sweep(logged, DESIGN, **COMMON, workers=2)
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as pool:
        assert same(threads, kr.sweep(logged, DESIGN, **COMMON, executor=pool))
    assert same(threads, kr.sweep(logged, DESIGN, **COMMON, workers=1))


def test_a_worker_that_dies(tmp_path):
    """The finished points are kept; the call goes on when the cause is gone."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool, pytest.raises(RuntimeError, match="a worker died with") as told:
        kr.sweep(deadly, {"damping": [1.0, 2.0, 3.0, 4.0, 5.0]}, until=0.1, step=0.01, executor=pool, store=tmp_path)
    assert "finished points are kept in" in str(told.value)
    kept = lines(tmp_path / "points.jsonl")
    assert 1 <= kept <= 3


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # Dask's own, at its end
def test_dask_gives_the_same(tmp_path):
    distributed = pytest.importorskip("distributed")
    threads = kr.sweep(logged, DESIGN, **COMMON, workers=2)
    with (
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster,
        distributed.Client(cluster) as client,
    ):
        assert same(threads, kr.sweep(logged, DESIGN, **COMMON, executor=client, store=tmp_path / "dask"))
        assert len((tmp_path / "dask" / "points.jsonl").read_text().splitlines()) == 500
