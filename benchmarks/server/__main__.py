"""What the server costs: `python -m benchmarks.server --runs 1000,10000,100000 --write`.

Starts servers of its own; fifteen minutes on a quiet machine. Sites with histories of different lengths are asked in turns, and
processor time is told, so that the ratios hold on a machine that does other work, too; rates and waits want a quiet one.
"""

import argparse
from collections.abc import Sequence
from contextlib import ExitStack
from itertools import chain

from benchmarks.loads.scene import IMAGES
from benchmarks.machine import describe_machine
from benchmarks.server.archives import measure_archives, measure_scoring_again
from benchmarks.server.boards import measure_boards
from benchmarks.server.pages import measure_pages
from benchmarks.server.queue import measure_queue, measure_worker
from benchmarks.server.sites import own_servers, site
from benchmarks.server.table import COSTS, tables, write_between_marks


def main(arguments: Sequence[str] | None = None) -> None:
    chosen = _options().parse_args(arguments)
    runs, machine = [int(each) for each in chosen.runs.split(",")], describe_machine()
    goals, pages = [], []
    with own_servers() as servers:
        with ExitStack() as stack:
            sites = [stack.enter_context(site(servers, each, chosen.board)) for each in runs]
            for goal in measure_boards(sites[0], chosen.seconds):
                print(goal, flush=True)
                goals.append(goal)
            for page in measure_pages(sites, chosen.rounds, chosen.requests):
                print(page, flush=True)
                pages.append(page)
        for goal in chain(
            measure_queue(servers, runs[-1], chosen.results),
            measure_worker(servers),
            measure_archives(servers, chosen.archives, chosen.seconds, IMAGES),
            measure_scoring_again(servers, chosen.archives),
        ):
            print(goal, flush=True)
            goals.append(goal)
    text = tables(goals, pages, runs, f"{machine}.")
    print(text)
    if chosen.write:
        write_between_marks(COSTS, text)


def _options() -> argparse.ArgumentParser:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--runs", default="1000,10000,100000", help="lengths of the histories")
    options.add_argument("--rounds", type=int, default=5, help="in which each site is asked for each page")
    options.add_argument("--requests", type=int, default=15, help="for a page in a round")
    options.add_argument("--seconds", type=int, default=10, help="of each measurement of a rate")
    options.add_argument(
        "--board", type=int, default=100, help="methods on a board; five times as many on the large one"
    )
    options.add_argument("--results", type=int, default=10_000, help="that are scored again")
    options.add_argument(
        "--archives",
        type=int,
        default=100,
        help="that are sent and drained, and as many that are scored again",
    )
    options.add_argument(
        "--write", action="store_true", help="write the tables into docs/administer/costs.md"
    )
    return options


if __name__ == "__main__":
    main()
