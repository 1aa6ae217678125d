"""`python -m tests.security.attackers`: measure everything, and write the tables into SECURITY.md."""

import sys
import time
from itertools import chain
from pathlib import Path

from tests.security.attackers.table import BOUNDS, Cell, Size, cells, cells_with_intervals, gains, markdown

PAGE = Path(__file__).parents[3] / "SECURITY.md"


def main() -> None:
    """Measure, report as it goes, and write."""
    found: list[Cell] = []
    begun = time.monotonic()
    every = chain(cells(1, Size()), cells_with_intervals(Size(seeds=5)), cells(5, Size(seeds=3), BOUNDS))
    for cell in every:
        found.append(cell)
        passed = time.monotonic() - begun
        sys.stdout.write(
            f"{passed:6.0f} s  {cell.accounts} account(s)  {cell.row:26} {cell.attack:22}"
            f" {'with intervals' if cell.intervals else '':15}"
            f" recovered {100 * cell.mean:6.2f} %  at most {100 * cell.largest:6.2f} %\n"
        )
        sys.stdout.flush()
    text = PAGE.read_text()
    tables = {"1": markdown(found, 1), "5": markdown(found, 5), "with intervals": gains(found)}
    for name, table in tables.items():
        begin, end = f"<!-- attackers {name} -->", f"<!-- end of attackers {name} -->"
        before, _, rest = text.partition(begin)
        text = f"{before}{begin}\n{table}\n{end}{rest.partition(end)[2]}"
    PAGE.write_text(text)


if __name__ == "__main__":
    main()
