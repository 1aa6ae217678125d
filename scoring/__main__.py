"""The entry point for programs: `python -m scoring --help`."""

import sys

from scoring.command_line import main

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
