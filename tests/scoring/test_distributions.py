import math

import numpy as np
import pytest

from heldout_scoring.statistics.ranks import (
    chi_square_p_value,
    normal_p_value,
    studentized_range_p_value,
    studentized_range_quantile,
)


@pytest.mark.parametrize(
    ("numbers", "critical"),
    list(zip(range(2, 11), (1.960, 2.343, 2.569, 2.728, 2.850, 2.949, 3.031, 3.102, 3.164), strict=True)),
)
def test_critical_values_match_the_table_of_demsar(numbers: int, critical: float) -> None:
    assert studentized_range_quantile(0.95, numbers) / math.sqrt(2) == pytest.approx(critical, abs=0.0011)


@pytest.mark.parametrize(
    ("numbers", "quantile"), [(2, 2.772), (3, 3.314), (5, 3.858), (10, 4.474), (20, 5.012)]
)
def test_quantiles_at_95_percent_match_published_tables(numbers: int, quantile: float) -> None:
    assert studentized_range_quantile(0.95, numbers) == pytest.approx(quantile, abs=0.0005)


@pytest.mark.parametrize(("numbers", "quantile"), [(2, 3.643), (5, 4.603), (10, 5.157)])
def test_quantiles_at_99_percent_match_published_tables(numbers: int, quantile: float) -> None:
    assert studentized_range_quantile(0.99, numbers) == pytest.approx(quantile, abs=0.0005)


@pytest.mark.parametrize("size", [1e-6, 0.5, 3.0, 8.0, 30.0])
def test_the_range_of_two_numbers_follows_the_normal_distribution(size: float) -> None:
    assert studentized_range_p_value(size, 2) == pytest.approx(normal_p_value(size / math.sqrt(2)), rel=1e-12)


def test_range_probabilities_match_a_simulation() -> None:
    drawn = np.random.default_rng(1).normal(size=(200_000, 7))

    share = float(np.mean(np.ptp(drawn, axis=1) > 3.5))

    assert studentized_range_p_value(3.5, 7) == pytest.approx(share, abs=0.004)


@pytest.mark.parametrize(
    ("degrees", "statistic", "p_value"),
    [(1, 6.635, 0.01), (2, 5.991, 0.05), (5, 11.070, 0.05), (9, 21.666, 0.01), (16, 26.296, 0.05)],
)
def test_chi_square_matches_published_tables(degrees: int, statistic: float, p_value: float) -> None:
    assert chi_square_p_value(statistic, degrees) == pytest.approx(p_value, rel=2e-3)


def test_chi_square_of_two_degrees_is_an_exponential() -> None:
    assert chi_square_p_value(700.0, 2) == pytest.approx(math.exp(-350), rel=1e-12)


def test_the_p_value_of_0_is_1() -> None:
    assert chi_square_p_value(0.0, 3) == studentized_range_p_value(0.0, 3) == normal_p_value(0.0) == 1.0
