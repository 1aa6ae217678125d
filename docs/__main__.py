"""Builds the pages into a folder: `python -m docs FOLDER`."""

import sys
from pathlib import Path

from docs.building import build

if __name__ == "__main__":
    index = build(Path(sys.argv[1]))
    print(index)  # noqa: T201 - where to begin reading
