"""`python -m docs.screenshots ADDRESS`: the documentation's pictures, taken with Chromium of a server that runs the sample challenge."""

import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

import httpx2
from PIL import Image

FOLDER: Final = Path(__file__).parent / "images"
WIDTH: Final = 1200
COLOURS: Final = 128
BOARD: Final = "sample/val/3"


def pages(address: str) -> Iterator[tuple[str, str, int]]:
    """The name of each picture, the address of its page, and its height in pixels."""
    rows = httpx2.get(f"{address}/api/v1/leaderboards/{BOARD}").raise_for_status().json()["rows"]
    methods = "&".join(f"methods={row['method_id']}" for row in rows[:2])
    yield "leaderboard", f"{address}/leaderboards/{BOARD}", 760
    yield "figures", f"{address}/leaderboards/{BOARD}/figures", 1400
    yield "comparison", f"{address}/compare/{BOARD}?{methods}", 1380


def take(name: str, address: str, height: int) -> None:
    """Write one picture, of few colours so that it stays small. Raises SystemExit without Chromium, and CalledProcessError if it fails."""
    chromium = shutil.which("chromium")
    if chromium is None:
        sys.exit("pictures are taken with Chromium: apt-get install chromium")
    target = FOLDER / f"{name}.png"
    with TemporaryDirectory() as profile:
        command = [
            chromium, "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", f"--user-data-dir={profile}",
            f"--window-size={WIDTH},{height}", f"--screenshot={target}", address,
        ]  # fmt: skip
        subprocess.run(command, check=True, capture_output=True)
    Image.open(target).convert("RGB").quantize(COLOURS).save(target, optimize=True)


if __name__ == "__main__":
    for page in pages(sys.argv[1].rstrip("/")):
        take(*page)
