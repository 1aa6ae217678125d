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
from benchmarks.speed_page import SPEED, write_speed
from benchmarks.tables import as_markdown


def main(arguments: list[str]) -> None:
    """Run the races chosen and print what came of them."""
    parser = argparse.ArgumentParser("python -m benchmarks", description=__doc__)
    parser.add_argument("--only", choices=RACES, action="append", help="a race; all of them if left out")
    parser.add_argument("--sizes", default="small,medium", help=f"of detection: {', '.join(SIZES)}")
    parser.add_argument("--rounds", type=int, default=5, help="runs of each program, which take turns")
    parser.add_argument("--peers", help="the Python that has benchmarks/requirements.txt installed")
    parser.add_argument("--folder", type=Path, default=Path(tempfile.gettempdir(), "heldout-benchmarks"))
    parser.add_argument("--quick", action="store_true", help="a few seconds, to see that everything runs")
    parser.add_argument("--write", action="store_true", help="write the tables into docs/speed.md")
    options = parser.parse_args(arguments)
    sizes = ("tiny",) if options.quick else tuple(options.sizes.split(","))
    if unknown := set(sizes).difference(SIZES):
        parser.error(f"unknown size: {', '.join(sorted(unknown))}")
    options.folder.mkdir(parents=True, exist_ok=True)
    if options.write and (options.only or options.quick):
        parser.error("--write needs every race, without --only and --quick")
    plan = Plan(options.folder, sizes, 1 if options.quick else options.rounds, options.peers, options.quick)
    machine, sections = describe_machine(), []
    print(f"{machine}\n", flush=True)
    for name in options.only or RACES:
        found = RACES[name](plan)
        print(as_markdown(found), flush=True)
        sections += found
    if options.write:
        write_speed(SPEED, sections, machine, options.peers)


if __name__ == "__main__":
    main(sys.argv[1:])
