"""`python -m benchmarks`: how fast the scorer is on this machine, beside others.

Prints Markdown. Work loads are made once and kept. Peers run from an environment of their own; without one only our own
programs race.
"""

import argparse
import sys
import tempfile
from pathlib import Path

from benchmarks.loads.detections import SIZES
from benchmarks.machine import describe_machine
from benchmarks.races import RACES, Plan
from benchmarks.tables import as_markdown


def main(arguments: list[str]) -> None:
    """Run the races asked for and print what came of them."""
    parser = argparse.ArgumentParser("python -m benchmarks", description=__doc__)
    parser.add_argument("--only", choices=RACES, action="append", help="a race; all of them if left out")
    parser.add_argument("--sizes", default="small,medium", help=f"of detection: {', '.join(SIZES)}")
    parser.add_argument("--rounds", type=int, default=5, help="runs of each program, which take turns")
    parser.add_argument("--peers", help="the Python that has benchmarks/requirements.txt installed")
    parser.add_argument("--folder", type=Path, default=Path(tempfile.gettempdir(), "heldout-benchmarks"))
    parser.add_argument("--quick", action="store_true", help="a few seconds, to see that everything runs")
    asked = parser.parse_args(arguments)
    sizes = ("tiny",) if asked.quick else tuple(asked.sizes.split(","))
    if unknown := set(sizes).difference(SIZES):
        parser.error(f"unknown size: {', '.join(sorted(unknown))}")
    asked.folder.mkdir(parents=True, exist_ok=True)
    plan = Plan(asked.folder, sizes, 1 if asked.quick else asked.rounds, asked.peers, asked.quick)
    print(f"{describe_machine()}\n", flush=True)
    for name in asked.only or RACES:
        print(as_markdown(RACES[name](plan)), flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
