"""How long the slow tests go on."""

import os
from datetime import timedelta

import pytest


@pytest.fixture
def duration() -> timedelta:
    """Two minutes; a quarter of one where HELDOUT_SHORT is set."""
    return timedelta(seconds=15 if os.environ.get("HELDOUT_SHORT") else 120)
