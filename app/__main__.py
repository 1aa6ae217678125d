"""The command line `heldout-server`.

It is a module of this name because multiprocessing would import any other main program again in each child.
"""

from app.garbage import kept_for_good


def main() -> None:
    """Run the command line."""
    with kept_for_good():
        from app.commands import main as run  # noqa: PLC0415 - imported as long as garbage is not looked for
    run()


if __name__ == "__main__":
    main()
