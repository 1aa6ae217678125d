"""`python -m sample FOLDER`: draws the sample of `make run`, and prints a line once its tree is complete."""

import sys
from pathlib import Path

from sample.whole import draw_everything

if __name__ == "__main__":
    draw_everything(Path(sys.argv[1]))
