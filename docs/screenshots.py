"""`python -m docs.screenshots ADDRESS`: the README's pictures, taken with Chromium of a server that runs the sample edition."""

import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

import httpx2

FOLDER: Final = Path(__file__).parent
WIDTH: Final = 1200
BOARD: Final = "sample/val/3"


def pages(address: str) -> Iterator[tuple[str, str, int]]:
    """The name of each picture, the address of its page, and its height in pixels."""
    rows = httpx2.get(f"{address}/api/v1/leaderboards/{BOARD}").raise_for_status().json()["rows"]
    methods = "&".join(f"methods={row['method_id']}" for row in rows[:2])
    yield "leaderboard", f"{address}/leaderboards/{BOARD}", 760
    yield "figures", f"{address}/leaderboards/{BOARD}/figures", 1400
    yield "comparison", f"{address}/compare/{BOARD}?{methods}", 1240


def take(name: str, address: str, height: int) -> None:
    """Write one picture. Raises SystemExit without Chromium, and CalledProcessError if it fails."""
    chromium = shutil.which("chromium")
    if chromium is None:
        sys.exit("pictures are taken with Chromium: apt-get install chromium")
    with TemporaryDirectory() as profile:
        command = [
            chromium, "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", f"--user-data-dir={profile}",
            f"--window-size={WIDTH},{height}", f"--screenshot={FOLDER / name}.png", address,
        ]  # fmt: skip
        subprocess.run(command, check=True, capture_output=True)


if __name__ == "__main__":
    for page in pages(sys.argv[1].rstrip("/")):
        take(*page)
