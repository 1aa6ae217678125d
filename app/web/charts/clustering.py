"""Ordering rows so that similar ones are adjacent."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Row = Sequence[float | None]


def similar_order(rows: Sequence[Row]) -> list[int]:
    """Return the leaf order of an average-linkage clustering of rows by Euclidean distance.

    A missing value counts as the mean of its column. The first row ends up in the first half. Source: Sokal and Michener,
    "A statistical method for evaluating systematic relationships", 1958.

    >>> similar_order([(0.1, 0.2), (0.9, 0.8), (0.12, 0.2), (0.85, 0.8)])
    [0, 2, 1, 3]
    """
    if len(rows) < 3:
        return list(range(len(rows)))
    values = _filled(rows)
    distances = np.sqrt(np.maximum(_squares(values), 0.0))
    np.fill_diagonal(distances, np.inf)
    clusters: list[list[int]] = [[place] for place in range(len(rows))]
    sizes = np.ones(len(rows))
    for _ in range(len(rows) - 1):
        one, other = sorted(divmod(int(np.argmin(distances)), len(rows)))
        clusters[one] += clusters[other]
        share = sizes[one] / (sizes[one] + sizes[other])
        merged = share * distances[one] + (1 - share) * distances[other]
        sizes[one] += sizes[other]
        distances[one], distances[:, one] = merged, merged
        distances[other], distances[:, other] = np.inf, np.inf
        distances[one, one] = np.inf
    order = next(cluster for cluster in clusters if len(cluster) == len(rows))
    return order if order.index(0) < len(order) / 2 else order[::-1]


def _filled(rows: Sequence[Row]) -> Floats:
    values = np.array([[np.nan if value is None else value for value in row] for row in rows], np.float64)
    is_known = ~np.isnan(values)
    counts = np.maximum(is_known.sum(axis=0), 1)
    means = np.where(is_known, values, 0.0).sum(axis=0) / counts
    return np.where(is_known, values, means)


def _squares(values: Floats) -> Floats:
    lengths = (values**2).sum(axis=1)
    squares: Floats = lengths[:, None] + lengths - 2 * values @ values.T
    return squares
