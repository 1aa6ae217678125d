from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest
from hypothesis import settings

from heldout_scoring.data.truth import GroundTruth
from heldout_scoring.readers.voc_tree import read_tree
from tests.shared import unpack

settings.register_profile("steady", derandomize=True)
settings.load_profile("steady")

SHARED = Path(__file__).resolve().parents[3] / "shared" / "data"

Unpack = Callable[[str], Path]
ReadTruth = Callable[[str, str, str], GroundTruth]


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder beside the project with real data and golden scores."""
    if not SHARED.is_dir():
        pytest.skip(f"the real data is not at {SHARED}")
    return SHARED


@pytest.fixture(scope="session")
def unpacked(shared: Path, tmp_path_factory: pytest.TempPathFactory) -> Unpack:
    """Unpack an archive of the real data, each only once."""

    @cache
    def unpack_once(name: str) -> Path:
        folder = tmp_path_factory.mktemp("shared")
        unpack(shared / name, folder)
        return folder

    return unpack_once


@pytest.fixture(scope="session")
def real_truth(unpacked: Unpack) -> ReadTruth:
    """Read a tree of the real data (archive, tree, image set), each only once."""

    @cache
    def read(archive: str, tree: str, image_set: str) -> GroundTruth:
        return read_tree(unpacked(archive) / tree, image_set)

    return read
