"""In which order unknowns are eliminated: graphs of blocks, a small band, small fronts.

Unknowns come in blocks (the velocity of a node, the multipliers of a joint). Blocks, not single unknowns, are
ordered: the graph is smaller, its structure clearer (the half band of a Kirchhoff beam is 7 with blocks, 12 without),
and what stays together can be treated with dense vectors. Rows are numbered like the unknowns, so the graph is that of A + A^T.
"""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Integers = NDArray[np.int64]
Reals = NDArray[np.float64]


class Storage(NamedTuple):
    """Where a solver keeps a matrix and its factors."""

    #: What the compiled functions read: a few numbers, and tables of any length.
    meta: list[int]
    tables: Integers
    #: Places of the entries in the array of values.
    position: Integers
    #: Lengths of the arrays of values, of work space and of pivots.
    values: int
    work: int
    pivots: int
    #: Numbers in L and U, and multiplications and additions to find them, if no rows are exchanged.
    fill: int
    flops: int


@dataclass(frozen=True)
class Graph:
    """Which blocks meet in a matrix."""

    #: Unknowns of each block, in the order given.
    members: list[Integers]
    #: The other blocks that share an entry with each block.
    neighbours: list[set[int]]
    #: Whether some unknown of the block has no entry on the diagonal, as multipliers do.
    hollow: list[bool]

    def size(self, blocks: Iterable[int]) -> int:
        return sum(len(self.members[b]) for b in blocks)


def graph(n: int, rows: Integers, cols: Integers, blocks: Integers) -> Graph:
    """The graph of the blocks of a matrix with entries at (rows, cols)."""
    names, of = np.unique(blocks, return_inverse=True)
    count = len(names)
    members = np.split(np.argsort(of, kind="stable"), np.cumsum(np.bincount(of, minlength=count))[:-1])
    pairs = np.unique(np.concatenate([of[rows] * count + of[cols], of[cols] * count + of[rows]]))
    neighbours: list[set[int]] = [set() for _ in range(count)]
    for a, b in zip((pairs // count).tolist(), (pairs % count).tolist(), strict=True):
        if a != b:
            neighbours[a].add(b)
    full = np.zeros(n, dtype=bool)
    full[rows[rows == cols]] = True
    return Graph(members, neighbours, [not full[m].all() for m in members])


def cuthill_mckee(g: Graph) -> list[int]:
    """Reverse Cuthill-McKee: a breadth-first order from a block at the rim, light blocks first, reversed.

    The rim is found by going to and fro between the ends of breadth-first orders until they no longer move apart.
    """
    weight = [g.size(near) for near in g.neighbours]
    done: set[int] = set()
    order: list[int] = []

    def walk(start: int) -> tuple[list[int], int, int]:
        """The order from a start, how far it goes, and the lightest of the farthest blocks."""
        level = {start: 0}
        queue = deque([start])
        while queue:
            a = queue.popleft()
            for b in sorted(g.neighbours[a] - level.keys(), key=lambda b: (weight[b], b)):
                level[b] = level[a] + 1
                queue.append(b)
        far = max(level.values())
        return list(level), far, min((b for b in level if level[b] == far), key=lambda b: (weight[b], b))

    for start in range(len(g.members)):
        if start in done:
            continue
        _, far, end = walk(start)
        while True:
            found, farther, other = walk(end)
            if farther <= far:
                break
            far, end = farther, other
        order += found
        done.update(found)
    return order[::-1]


@dataclass
class Front:
    """Unknowns that are eliminated together, and those which this changes."""

    #: Blocks eliminated here.
    own: list[int]
    #: Blocks updated here: all that share an entry with the former once their predecessors are gone.
    border: set[int]
    #: The fronts whose updates arrive here.
    children: list[Front] = field(default_factory=list)


def fronts(g: Graph, cost: Callable[[int, int], float]) -> list[Front]:
    """A tree (or forest) of fronts for elimination, children before their parents.

    Blocks are eliminated by minimum degree. A hollow block joins a neighbour that is not, so that the two are
    pivots for each other whatever their units, as long as it has no more equations than the neighbour
    unknowns. A front then joins its parent if ``cost(own, border)``, in unknowns, says that this is cheaper.
    """
    groups, needs = _hosted(g)
    return _merge(g, _minimum_degree(g, groups, needs), cost)


def _hosted(g: Graph) -> tuple[list[list[int]], dict[int, int]]:
    """Groups of a block and its hollow guests; and for hollow blocks without a host how many pivots they lack."""
    guests: dict[int, list[int]] = {b: [] for b, hollow in enumerate(g.hollow) if not hollow}
    room = {b: len(g.members[b]) for b in guests}
    needs = {}
    # Who has the fewest hosts to choose from chooses first.
    for b in sorted((b for b, hollow in enumerate(g.hollow) if hollow), key=lambda b: (len(g.neighbours[b]), b)):
        size = len(g.members[b])
        hosts = [a for a in g.neighbours[b] if a in room and room[a] >= size]
        if hosts:
            # The emptiest, then the one with the fewest neighbours: a hub shall not take in the joints of all its arms.
            host = min(hosts, key=lambda a: (len(g.members[a]) - room[a], len(g.neighbours[a]), a))
            guests[host].append(b)
            room[host] -= size
        else:
            guests[b] = []
            needs[b] = size
    return [[b, *joined] for b, joined in guests.items()], needs


def _minimum_degree(g: Graph, groups: Sequence[list[int]], needs: dict[int, int]) -> list[Front]:
    group_of = {b: v for v, blocks in enumerate(groups) for b in blocks}
    near = [set[int]().union(*(g.neighbours[b] for b in blocks)) - set(blocks) for blocks in groups]
    degree = [g.size(border) for border in near]
    # A hollow block on its own has no pivots until enough unknowns around it are eliminated.
    lacking = {group_of[b]: size for b, size in needs.items()}
    spare = [g.size(blocks[:1]) - g.size(blocks[1:]) for blocks in groups]
    heap = [(v in lacking, d, v) for v, d in enumerate(degree)]
    heapq.heapify(heap)
    eliminated: dict[int, Front] = {}
    while heap:
        late, d, v = heapq.heappop(heap)
        if v in eliminated or d != degree[v] or late != (lacking.get(v, 0) > 0):
            continue
        eliminated[v] = Front(list(groups[v]), near[v])
        for u in {group_of[b] for b in near[v]}:
            near[u] = (near[u] | near[v]).difference(groups[v], groups[u])
            degree[u] = g.size(near[u])
            if u in lacking:
                lacking[u] -= max(spare[v], 0)
            heapq.heappush(heap, (lacking.get(u, 0) > 0, degree[u], u))
    order = {v: k for k, v in enumerate(eliminated)}
    for front in eliminated.values():
        if front.border:
            parent = min((group_of[b] for b in front.border), key=order.__getitem__)
            eliminated[parent].children.append(front)
    return list(eliminated.values())


def _merge(g: Graph, order: list[Front], cost: Callable[[int, int], float]) -> list[Front]:
    sizes = {id(f): (g.size(f.own), g.size(f.border)) for f in order}
    for parent in order:
        # A child that merged hands its own children on; they have refused to merge with it, but may fit its parent.
        waiting = sorted(parent.children, key=lambda f: sizes[id(f)])
        parent.children = []
        while waiting:
            child = waiting.pop()
            (p, b), (q, c) = sizes[id(child)], sizes[id(parent)]
            if cost(p + q, c) <= cost(p, b) + cost(q, c):
                parent.own = child.own + parent.own
                sizes[id(parent)] = (p + q, c)
                waiting += child.children
            else:
                parent.children.append(child)
    roots = [f for f in order if not f.border]
    post: list[Front] = []
    stack = [(f, False) for f in reversed(roots)]
    while stack:
        f, visited = stack.pop()
        if visited:
            post.append(f)
        else:
            stack.append((f, True))
            stack += [(child, False) for child in reversed(f.children)]
    return post
