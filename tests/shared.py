"""The real data beside the project, which tests read where it is there."""

import tarfile
from pathlib import Path
from typing import BinaryIO

ROOT = Path(__file__).resolve().parents[1]
SHARED = ROOT.parent / "shared"


def unpack(archive: Path | BinaryIO, folder: Path) -> None:
    """Unpack a data set of ours; the first releases of Python 3.11 know no filters yet."""
    with tarfile.open(archive) if isinstance(archive, Path) else tarfile.open(fileobj=archive) as tar:
        if hasattr(tarfile, "data_filter"):
            tar.extractall(folder, filter="data")
        else:
            tar.extractall(folder)
