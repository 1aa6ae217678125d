"""The duration of slow tests, and the real data."""

import os
from datetime import timedelta

import pytest

from tests.scoring.conftest import real_truth, shared, unpacked
from tests.system.conftest import objects

__all__ = ["objects", "real_truth", "shared", "unpacked"]


@pytest.fixture
def is_short() -> bool:
    """Whether HELDOUT_SHORT is set, which shortens minutes to seconds."""
    return bool(os.environ.get("HELDOUT_SHORT"))


@pytest.fixture
def duration(*, is_short: bool) -> timedelta:
    """Two minutes, or 15 seconds in short runs."""
    return timedelta(seconds=15 if is_short else 120)
