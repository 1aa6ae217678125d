"""Drawings of results with matplotlib, which need not be installed."""

from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import Any

import numpy as np

from scoring.exhibits import Curve, RocCurve


def plot_curves(
    curves: Sequence[Curve | RocCurve], values: Mapping[str, float | None], axes: Any = None
) -> Any:
    """Draw a line for each curve, labelled with its class and value, and return the axes of matplotlib.

    Raises ImportError where matplotlib is not installed.
    """
    axes = _new_axes() if axes is None else axes
    for curve in curves:
        value = values.get(curve.class_name)
        label = curve.class_name if value is None else f"{curve.class_name} {value:.3f}"
        if isinstance(curve, RocCurve):
            rates = curve.points()
            axes.plot(rates.fpr, rates.tpr, label=label)
        else:
            points = curve.points()
            axes.plot(points.recall, points.precision, label=label)
    is_roc = isinstance(curves[0], RocCurve)
    axes.set(
        xlabel="false positive rate" if is_roc else "recall",
        ylabel="true positive rate" if is_roc else "precision",
        xlim=(0, 1),
        ylim=(0, 1.02),
    )
    axes.legend()
    return axes


def plot_values(values: Mapping[str, float | None], measure: str, axes: Any = None) -> Any:
    """Draw a bar for each class, none where it has no value, and return the axes of matplotlib.

    Raises ImportError where matplotlib is not installed.
    """
    axes = _new_axes() if axes is None else axes
    numbers = [np.nan if value is None else value for value in values.values()]
    axes.barh(list(values), numbers)
    axes.invert_yaxis()
    axes.set(xlabel=measure, xlim=(0, 1))
    return axes


def _new_axes() -> Any:
    try:
        pyplot = import_module("matplotlib.pyplot")
    except ImportError as error:
        raise ImportError(
            "plot() draws with matplotlib, which is not installed: pip install matplotlib"
        ) from error
    return pyplot.subplots()[1]
