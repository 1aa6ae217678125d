"""The sweeper: its command line.

It is a module of this name because multiprocessing would import any other main program again in each child.
"""

from app.garbage import kept_for_good


def main() -> None:
    """Sweep until a signal."""
    with kept_for_good():
        from worker.sweeper import main as sweep  # noqa: PLC0415 - imported as long as garbage is not looked for
    sweep()


if __name__ == "__main__":
    main()
