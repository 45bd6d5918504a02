"""Factorising and solving: every solver on every kind of pattern, and what must be refused."""

from __future__ import annotations

import os
import pickle
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kreisel.engine import linear, native, sparse

SOLVERS = ["dense", "band", "sparse"]
EDGES = {
    "chain": lambda m: [(i, i + 1) for i in range(m - 1)],
    "ring": lambda m: [(i, (i + 1) % m) for i in range(m)],
    "Y-tree": lambda m: [(max(0, i - 3), i) for i in range(1, m)],
    "comb": lambda m: [(i, i + 4) for i in range(0, m - 4, 4)] + [(i, i + 1) for i in range(m - 1) if i % 4 < 3],
    "ladder": lambda m: [(i, i + 2) for i in range(m - 2)] + [(i, i + 1) for i in range(0, m - 1, 2)],
    "star": lambda m: [(0, i) for i in range(1, m)],
}


@dataclass
class Pattern:
    """Nodes of six unknowns; along each edge stiffness, a group of two multipliers, or both."""

    n: int
    rows: np.ndarray
    cols: np.ndarray
    blocks: np.ndarray
    nodes: int

    def plan(self, solver: str = "auto") -> linear.Plan:
        return linear.plan(self.n, self.rows, self.cols, self.blocks, solver)


def pattern(edges: list[tuple[int, int]], size: int = 6, multipliers: int = 2, stiff: bool = True) -> Pattern:
    nodes = 1 + max(max(e) for e in edges)
    sizes = [size] * nodes + [multipliers] * len(edges)
    starts = np.cumsum([0, *sizes])
    pairs = [(a, a) for a in range(nodes)]
    for e, (a, b) in enumerate(edges):
        pairs += [(a, b), (b, a)] * stiff
        pairs += [(nodes + e, a), (nodes + e, b), (a, nodes + e), (b, nodes + e)]
    grids = [np.meshgrid(np.arange(starts[a], starts[a + 1]), np.arange(starts[b], starts[b + 1])) for a, b in pairs]
    rows = np.concatenate([i.ravel() for i, _ in grids])
    cols = np.concatenate([j.ravel() for _, j in grids])
    return Pattern(int(starts[-1]), rows, cols, np.repeat(np.arange(len(sizes)), sizes), int(starts[nodes]))


def saddle(p: Pattern, rng: np.random.Generator) -> np.ndarray:
    """[[M, B^T], [B, 0]] with the pattern, M not symmetric but definite."""
    A = np.zeros((p.n, p.n))
    A[p.rows, p.cols] = 0.3 * rng.standard_normal(len(p.rows))
    A[np.arange(p.nodes), np.arange(p.nodes)] += 4.0
    A[: p.nodes, p.nodes :] = A[p.nodes :, : p.nodes].T
    return A


def anything(p: Pattern, rng: np.random.Generator) -> np.ndarray:
    A = np.zeros((p.n, p.n))
    A[p.rows, p.cols] = rng.standard_normal(len(p.rows))
    return A


class Memory:
    """A plan with arrays of its own."""

    def __init__(self, plan: linear.Plan, times: int = 4) -> None:
        self.plan, self.A, self.work, self.piv = plan, plan.values(), plan.work(times), plan.pivots(times)

    def put(self, p: Pattern, A: np.ndarray) -> Memory:
        self.A[:] = 0.0
        self.A[self.plan.index(p.rows, p.cols)] = A[p.rows, p.cols]
        return self

    def factor(self) -> int:
        return linear.factor(self.plan.meta, self.plan.tables, self.A, self.work, self.piv)

    def solve(self, b: np.ndarray) -> np.ndarray:
        x = b[self.plan.order]
        linear.solve(self.plan.meta, self.plan.tables, self.A, self.work, self.piv, x)
        return x[self.plan.place]

    def factor_solve(self, b: np.ndarray) -> tuple[int, np.ndarray]:
        x = b[self.plan.order]
        code = linear.factor_solve(self.plan.meta, self.plan.tables, self.A, self.work, self.piv, x)
        return code, x[self.plan.place]

    @property
    def delayed(self) -> int:
        facts = self.piv[: sparse.FACTS * self.plan.meta[sparse.FRONTS]].reshape(-1, sparse.FACTS)
        return int((facts[:, sparse.CANDIDATES] - facts[:, sparse.DONE]).sum())


def backward_error(A: np.ndarray, x: np.ndarray, b: np.ndarray) -> float:
    """The least relative change of A and b, in the maximum norm, that makes x exact."""
    return float(abs(A @ x - b).max() / (abs(A).sum(axis=1).max() * abs(x).max() + abs(b).max()))


@contextmanager
def backend(name: str) -> Iterator[None]:
    """Plans made here are for compiled routines ("llvm"), or for the general loops alone ("vm")."""
    before = os.environ.get("KREISEL_BACKEND")
    os.environ["KREISEL_BACKEND"] = name
    try:
        yield
    finally:
        del os.environ["KREISEL_BACKEND"]
        if before is not None:
            os.environ["KREISEL_BACKEND"] = before


@pytest.mark.parametrize("code", ["llvm", "vm"])
@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("kind", EDGES)
def test_solves(kind: str, solver: str, code: str) -> None:
    rng = np.random.default_rng(1)
    with backend(code):
        for stiff in (True, False):
            p = pattern(EDGES[kind](13), stiff=stiff)
            memory = Memory(p.plan(solver))
            assert memory.plan.solver == solver
            for make in (saddle, saddle, anything):
                A, b = make(p, rng), rng.standard_normal(p.n)
                if make is anything and not stiff:
                    continue  # rows of multipliers without enough unknowns: singular in general
                assert memory.put(p, A).factor() == 0
                x = memory.solve(b)
                assert backward_error(A, x, b) < 1e-14
                np.testing.assert_allclose(x, np.linalg.solve(A, b), rtol=0, atol=1e-14 * np.linalg.cond(A) * abs(x).max())


@pytest.mark.parametrize("n", [1, 2, 5, 6, 8, 9, 12, 16, 24, 40])
def test_one_dense_block(n: int) -> None:
    rng = np.random.default_rng(n)
    rows, cols = np.divmod(np.arange(n * n), n)
    p = Pattern(n, rows, cols, np.zeros(n, dtype=int), n)
    memory = Memory(p.plan("dense"))
    for _ in range(5):
        A, b = rng.standard_normal((n, n)), rng.standard_normal(n)
        untouched = memory.put(p, A).A.copy()
        code, x = memory.factor_solve(b)
        assert code == 0
        assert backward_error(A, x, b) < 1e-14
        np.testing.assert_array_equal(memory.solve(b), x)
        assert memory.factor() == 0
        assert backward_error(A, memory.solve(b), b) < 1e-14
        np.testing.assert_array_equal(memory.A, untouched)


@pytest.mark.parametrize("solver", SOLVERS)
def test_right_hand_side_eliminated_along(solver: str) -> None:
    rng = np.random.default_rng(2)
    p = pattern(EDGES["ring"](7))
    memory, A, b = Memory(p.plan(solver)), saddle(p, rng), rng.standard_normal(p.n)
    code, x = memory.put(p, A).factor_solve(b)
    assert code == 0
    assert backward_error(A, x, b) < 1e-14
    # The factors are kept.
    c = rng.standard_normal(p.n)
    assert backward_error(A, memory.solve(c), c) < 1e-14


@pytest.mark.parametrize("solver", SOLVERS)
def test_does_not_depend_on_what_was_before(solver: str) -> None:
    """Values change so that the pivots of before would not do; arrays that were used give the same bits as new ones."""
    rng = np.random.default_rng(3)
    p = pattern(EDGES["Y-tree"](10))
    used, b = Memory(p.plan(solver)), rng.standard_normal(p.n)
    first = saddle(p, rng)
    weak = first.copy()
    weak[np.arange(0, p.nodes, 2), np.arange(0, p.nodes, 2)] = 1e-9  # every second pivot of before
    for A in (first, weak, anything(p, rng), first, saddle(p, rng), weak):
        code, x = used.put(p, A).factor_solve(b)
        again = Memory(used.plan).put(p, A).factor_solve(b)
        assert code == again[0] == 0
        np.testing.assert_array_equal(x, again[1])
        assert backward_error(A, x, b) < 1e-14


@pytest.mark.parametrize("code", ["llvm", "vm"])
def test_columns_are_delayed(code: str) -> None:
    """The ends of the teeth have no mass, so not enough pivots of their own: they are found further up the tree."""
    rng = np.random.default_rng(4)
    with backend(code):
        p = pattern(EDGES["comb"](16))
        plan = p.plan("sparse")
    A, b = saddle(p, rng), rng.standard_normal(p.n)
    for a in range(18, 96, 24):
        A[a : a + 6, a : a + 6] = 0.0
    memory = Memory(plan, times=8).put(p, A)
    result, x = memory.factor_solve(b)
    assert result == 0
    assert memory.delayed > 0
    assert backward_error(A, x, b) < 1e-14
    # In the room that was planned it may not fit; what is too short is refused, not overrun.
    tight = Memory(plan, times=1).put(p, A)
    tight.work = native.aligned(int(plan.meta[sparse.FIRST]) + 200)
    assert tight.factor() == linear.NO_ROOM
    tight = Memory(plan, times=1).put(p, A)
    tight.piv = np.zeros(sparse.FACTS * int(plan.meta[sparse.FRONTS]) + 20, dtype=np.int64)
    assert tight.factor() == linear.NO_ROOM


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_not_finite(solver: str, bad: float) -> None:
    rng = np.random.default_rng(5)
    p = pattern(EDGES["ladder"](6))
    memory, A = Memory(p.plan(solver)), saddle(p, rng)
    for k in rng.choice(len(p.rows), 40, replace=False):
        B = A.copy()
        B[p.rows[k], p.cols[k]] = bad
        assert memory.put(p, B).factor() == linear.NOT_FINITE
        assert memory.factor_solve(np.ones(p.n))[0] == linear.NOT_FINITE
    assert memory.put(p, A).factor() == 0


@pytest.mark.parametrize("solver", SOLVERS)
def test_waste_is_not_read(solver: str) -> None:
    rng = np.random.default_rng(6)
    p = pattern(EDGES["chain"](4))
    memory, A, b = Memory(p.plan(solver)), saddle(p, rng), rng.standard_normal(p.n)
    memory.put(p, A).A[memory.plan.waste] = np.nan
    assert memory.plan.waste == len(memory.A) - 1
    code, x = memory.factor_solve(b)
    assert code == 0
    assert backward_error(A, x, b) < 1e-14


def planar_loop(joints: int, rng: np.random.Generator, redundant: bool, length: float, masses: float) -> tuple[np.ndarray, np.ndarray, int]:
    """Mass matrix and constraints of a closed loop with parallel revolute axes, in any direction in space.

    Three of the constraints are redundant. Without them, one joint holds two coordinates of a point only.
    """
    bodies = joints - 1
    R = np.linalg.qr(rng.standard_normal((3, 3)))[0]
    angle = 2 * np.pi * (np.arange(joints) + 0.3 * rng.random(joints)) / joints
    at = length * np.stack([np.cos(angle), np.sin(angle), 0 * angle], axis=1) @ R.T
    centre = (at + np.roll(at, -1, axis=0)) / 2
    M = np.zeros((6 * bodies, 6 * bodies))
    for k in range(bodies):
        m, J = masses ** rng.random(), rng.standard_normal((3, 3))
        M[6 * k : 6 * k + 3, 6 * k : 6 * k + 3] = m * np.eye(3)
        M[6 * k + 3 : 6 * k + 6, 6 * k + 3 : 6 * k + 6] = 0.1 * m * length**2 * (np.eye(3) + 0.1 * J @ J.T)
    rows = []
    for k in range(joints):
        B = np.zeros((5, 6 * joints))
        for sign, body in ((-1, (k - 1) % joints), (1, k)):
            B[:3, 6 * body : 6 * body + 3] = sign * np.eye(3)
            B[:3, 6 * body + 3 : 6 * body + 6] = sign * np.cross(at[k] - centre[body], np.eye(3))
            B[3:, 6 * body + 3 : 6 * body + 6] = sign * R.T[:2]
        rows.append(B[:, : 6 * bodies] if k or redundant else R.T[:2] @ B[:3, : 6 * bodies])
    B = np.concatenate(rows)
    A = np.block([[M, B.T], [B, np.zeros((len(B), len(B)))]])
    blocks = np.repeat(np.arange(bodies + joints), [6] * bodies + [len(B) for B in rows])
    return A, blocks, 6 * bodies


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("length", [1e-3, 1.0, 1e3])
def test_redundant_constraints_are_found(solver: str, length: float) -> None:
    rng = np.random.default_rng(7)
    with backend("vm" if solver == "dense" else "llvm"):
        for joints in (4, 9):
            for masses in (1.0, 1e3):
                for redundant in (True, False):
                    A, blocks, first = planar_loop(joints, rng, redundant, length, masses)
                    rows, cols = np.nonzero(A)
                    p = Pattern(len(A), rows, cols, blocks, first)
                    code = Memory(p.plan(solver)).put(p, A).factor()
                    # It is the column of a multiplier.
                    assert code > first if redundant else code == 0


@pytest.mark.parametrize("code", ["llvm", "vm"])
@pytest.mark.parametrize("solver", SOLVERS)
def test_empty_column_is_named(solver: str, code: str) -> None:
    rng = np.random.default_rng(8)
    with backend(code):
        p = pattern(EDGES["chain"](3))
        memory = Memory(p.plan(solver))
    for column in range(0, p.n, 5):
        A = saddle(p, rng)
        A[:, column] = 0.0
        assert memory.put(p, A).factor() == 1 + column
        assert memory.factor_solve(np.ones(p.n))[0] == 1 + column
    assert memory.put(p, np.zeros((p.n, p.n))).factor() > 0


@settings(max_examples=40, deadline=None)
@given(data=st.data())
def test_units_do_not_matter(data: st.DataObject) -> None:
    """Rows and unknowns in other units (powers of two, so that nothing is rounded): the same answer, a solution in other units."""
    solver = data.draw(st.sampled_from(SOLVERS))
    rng = np.random.default_rng(data.draw(st.integers(0, 1000)))
    p = pattern(EDGES["chain"](3), stiff=data.draw(st.booleans()))
    A, b = saddle(p, rng), rng.standard_normal(p.n)
    if dependent := data.draw(st.booleans()):
        A[p.nodes + 1] = A[p.nodes]
        A[:, p.nodes + 1] = A[:, p.nodes]
    r = 2.0 ** rng.integers(-40, 40, p.n)
    memory = Memory(p.plan(solver))
    code, _ = memory.put(p, A).factor_solve(b)
    scaled, x = memory.put(p, r[:, None] * A).factor_solve(r * b)
    assert (code > 0) == (scaled > 0) == dependent
    if not dependent:
        assert backward_error(A, x, b) < 1e-14


@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_any_graph(data: st.DataObject) -> None:
    """Blocks of any size, connected in any way, with and without entries on the diagonal, numbered in any order."""
    count = data.draw(st.integers(1, 9))
    sizes = data.draw(st.lists(st.integers(1, 4), min_size=count, max_size=count))
    blocks = np.array(data.draw(st.permutations(np.repeat(np.arange(count), sizes).tolist())))
    n = len(blocks)
    meets = np.eye(count, dtype=bool)
    for a, b in data.draw(st.lists(st.tuples(st.integers(0, count - 1), st.integers(0, count - 1)), max_size=14)):
        meets[a, b] = True
    rng = np.random.default_rng(data.draw(st.integers(0, 1000)))
    kept = meets[np.ix_(blocks, blocks)] & (rng.random((n, n)) < data.draw(st.sampled_from([1.0, 0.8])))
    rows, cols = np.nonzero(kept)
    A, b = np.where(kept, rng.standard_normal((n, n)), 0.0), rng.standard_normal(n)
    p = Pattern(n, rows, cols, blocks, n)
    condition = np.linalg.cond(A)
    with backend("vm"):
        for solver in ("auto", "dense", "band", "sparse"):
            memory = Memory(p.plan(solver), times=40)
            code, x = memory.put(p, A).factor_solve(b)
            if condition < 1e8:
                assert code == 0
                assert backward_error(A, x, b) < 1e-13
            elif not condition < 1e18:
                assert code > 0


@pytest.mark.parametrize("solver", [*SOLVERS, "auto"])
def test_every_entry_has_a_place_of_its_own(solver: str) -> None:
    p = pattern(EDGES["ladder"](8))
    plan = p.plan(solver)
    unique = np.unique(p.rows * p.n + p.cols)
    places = plan.index(unique // p.n, unique % p.n)
    assert len(np.unique(places)) == len(places)
    assert places.min() >= 0
    assert places.max() < plan.waste
    assert plan.index(p.rows.reshape(2, -1), p.cols.reshape(2, -1)).shape == (2, len(p.rows) // 2)
    np.testing.assert_array_equal(plan.order[plan.place], np.arange(p.n))


def test_entries_outside_the_pattern_are_refused() -> None:
    plan = pattern(EDGES["chain"](4), stiff=False).plan()
    for i, j in ((0, 6), (plan.n - 1, plan.n - 1), (-1, 0), (0, -1), (0, plan.n), (plan.n, 0)):
        with pytest.raises(IndexError, match=f"no entry in row {i}, column {j}"):
            plan.index([0, i], [0, j])


@pytest.mark.parametrize("kind", ["chain", "ring", "Y-tree", "comb", "star"])
@pytest.mark.parametrize("stiff", [True, False])
def test_cost_grows_linearly(kind: str, stiff: bool) -> None:
    """Counted, not timed; and without delays the count is what is done."""
    rng = np.random.default_rng(9)
    with backend("vm"):
        plans = [pattern(EDGES[kind](m), stiff=stiff).plan("sparse") for m in (100, 200, 400)]
    for what in ("fill", "flops", "n_values", "n_work", "n_pivots"):
        counts = np.array([getattr(plan, what) for plan in plans], dtype=float)
        growth = np.diff(counts)
        assert growth[1] == pytest.approx(2 * growth[0], rel=0.05), what
    p = pattern(EDGES[kind](100), stiff=stiff)
    A = saddle(p, rng)
    A[np.arange(p.nodes), np.arange(p.nodes)] = 1.0
    A[p.nodes :, : p.nodes] *= 2.0
    A[: p.nodes, : p.nodes] *= np.where(np.eye(p.nodes) > 0, 1.0, 0.05)
    memory = Memory(plans[0]).put(p, A)
    assert memory.factor() == 0
    assert memory.delayed <= p.n // 50


def test_choice_of_solver() -> None:
    with backend("llvm"):
        assert pattern([(0, 0)], multipliers=3).plan().solver == "dense"
        assert pattern(EDGES["ring"](60)).plan().solver == "sparse"
    with backend("vm"):
        assert pattern(EDGES["chain"](60)).plan().solver == "band"
        assert pattern(EDGES["star"](60)).plan().solver == "sparse"


def test_plans_look_alike() -> None:
    p = pattern(EDGES["chain"](3))
    assert len({len(p.plan(solver).meta) for solver in SOLVERS}) == 1


def test_plan_survives_the_way_to_another_process() -> None:
    rng = np.random.default_rng(10)
    p = pattern(EDGES["Y-tree"](7))
    for solver in SOLVERS:
        plan = p.plan(solver)
        copy = pickle.loads(pickle.dumps(plan))
        A, b = saddle(p, rng), rng.standard_normal(p.n)
        np.testing.assert_array_equal(Memory(copy).put(p, A).factor_solve(b)[1], Memory(plan).put(p, A).factor_solve(b)[1])


@pytest.mark.parametrize("solver", SOLVERS)
def test_threads_share_a_plan(solver: str) -> None:
    rng = np.random.default_rng(11)
    p = pattern(EDGES["ring"](8))
    plan = p.plan(solver)
    cases = [(saddle(p, rng), rng.standard_normal(p.n)) for _ in range(40)]

    def solved(case: tuple[np.ndarray, np.ndarray]) -> np.ndarray:
        memory = Memory(plan).put(p, case[0])
        for _ in range(20):
            _, x = memory.factor_solve(case[1])
        return x

    with ThreadPoolExecutor(4) as pool:
        together = list(pool.map(solved, cases))
    for x, case in zip(together, cases, strict=True):
        np.testing.assert_array_equal(x, solved(case))


def test_kept_code_depends_on_all_files() -> None:
    """Constants of one file are built into the functions of another; see ``native.compiled``."""
    for function in (linear.factor, sparse.factor, sparse.solve):
        assert native._sources() in function._cache._cache_file._source_stamp


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((0, [], [], []), "at least one row"),
        ((2, [0], [0, 1], [0, 0]), "equal length"),
        ((2, [0, 2], [0, 1], [0, 0]), "between 0 and 1"),
        ((2, [0, 1], [0, -1], [0, 0]), "between 0 and 1"),
        ((2, [0, 1], [0, 1], [0]), "each of the 2 unknowns"),
        ((2, [0, 1], [0, 1], [0, 0], "cholesky"), "got 'cholesky'"),
    ],
)
def test_bad_input(arguments: tuple, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        linear.plan(*arguments)
