"""How long the slow tests go on, and the real data."""

import os
from datetime import timedelta

import pytest

from tests.scoring.conftest import real_truth, shared, unpacked
from tests.system.conftest import objects

__all__ = ["objects", "real_truth", "shared", "unpacked"]


@pytest.fixture
def is_short() -> bool:
    """Whether HELDOUT_SHORT is set: seconds in place of minutes."""
    return bool(os.environ.get("HELDOUT_SHORT"))


@pytest.fixture
def duration(*, is_short: bool) -> timedelta:
    """Two minutes; in a short form a quarter of one."""
    return timedelta(seconds=15 if is_short else 120)
