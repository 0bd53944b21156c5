"""Parts cover all edges once, and what they write to particles of others lies in rows of their own."""

from __future__ import annotations

import numpy as np
import pytest

from rheotwin.meshing import tet_grid
from rheotwin.particles.ordering import inverse_order, particle_order
from rheotwin.particles.unstructured import parts
from rheotwin.particles.unstructured.parts import CROSSING, FIRST, HIGH, LAST, LOW, REACH, SPILL
from rheotwin.particles.unstructured.transpose import BATCH


@pytest.mark.parametrize("least", [10, 300, 10**6])
def test_parts_are_a_partition(least: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parts, "EDGES", least)
    line = np.linspace(0.0, 1.0, 7)
    edges = tet_grid(line, line, np.linspace(0.0, 3.0, 30)).edges.T.astype(np.int64)
    count = int(edges.max()) + 1
    places = inverse_order(particle_order(edges, count))
    ends = np.sort(places[edges], axis=1)
    found = parts.cut(ends, count)
    table = found.table
    assert len(table) == (1 if least == 10**6 else min(parts.MOST, len(edges) // least))
    np.testing.assert_array_equal(found.edges[found.edge_lanes], ends)
    assert len(np.unique(found.edge_lanes)) == len(edges)
    np.testing.assert_array_equal(table[1:, LOW], table[:-1, HIGH])
    assert (table[0, LOW], table[-1, HIGH], table[-1, REACH]) == (0, count, 0)
    np.testing.assert_array_equal(table[1:, FIRST], table[:-1, LAST])
    assert np.all(table[:, [FIRST, CROSSING, LAST]] % BATCH == 0)
    assert table[0, SPILL] == count + 2
    assert found.rows == count + 2 + table[:, REACH].sum()
    for part, row in enumerate(table):
        inside, crossing = found.edges[row[FIRST] : row[CROSSING]], found.edges[row[CROSSING] : row[LAST]]
        real = inside[inside[:, 0] < count]
        assert np.all((real >= row[LOW]) & (real < row[HIGH]))
        assert np.all(crossing[:, 1] >= row[HIGH])
        assert np.all(crossing[:, 1] < row[HIGH] + max(1, row[REACH]))
        if part + 1 < len(table):
            assert row[REACH] <= table[part + 1, HIGH] - table[part + 1, LOW]
