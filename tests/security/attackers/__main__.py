"""`python -m tests.security.attackers`: measure everything, and write the tables into SECURITY.md."""

import sys
import time
from itertools import chain
from pathlib import Path

from tests.security.attackers.table import BOUNDS, Cell, Size, cells, markdown

PAGE = Path(__file__).parents[3] / "SECURITY.md"


def main() -> None:
    """Measure, report as it goes, and write."""
    found: list[Cell] = []
    begun = time.monotonic()
    for cell in chain(cells(1, Size()), cells(5, Size(seeds=3), BOUNDS)):
        found.append(cell)
        passed = time.monotonic() - begun
        sys.stdout.write(
            f"{passed:6.0f} s  {cell.accounts} account(s)  {cell.row:26} {cell.attack:22}"
            f" recovered {100 * cell.mean:6.2f} %  at most {100 * cell.largest:6.2f} %\n"
        )
        sys.stdout.flush()
    text = PAGE.read_text()
    for accounts in (1, 5):
        begin, end = f"<!-- attackers {accounts} -->", f"<!-- end of attackers {accounts} -->"
        before, _, rest = text.partition(begin)
        text = f"{before}{begin}\n{markdown(found, accounts)}\n{end}{rest.partition(end)[2]}"
    PAGE.write_text(text)


if __name__ == "__main__":
    main()
