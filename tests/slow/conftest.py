"""How long the slow tests go on, and the real data."""

import os
from datetime import timedelta

import pytest

from tests.scoring.conftest import real_truth, shared, unpacked

__all__ = ["real_truth", "shared", "unpacked"]


@pytest.fixture
def duration() -> timedelta:
    """Two minutes; a quarter of one where HELDOUT_SHORT is set."""
    return timedelta(seconds=15 if os.environ.get("HELDOUT_SHORT") else 120)
