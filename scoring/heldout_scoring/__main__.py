"""The entry point for programs: `heldout-scoring`, and `python -m heldout_scoring` alike."""

import sys

from .command_line import main


def run() -> None:
    """Carry out the command of the process and exit."""
    sys.exit(main(sys.argv[1:]))


if __name__ == "__main__":
    run()
