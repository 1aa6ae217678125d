"""A worker: Celery's command line, which looks for garbage only once the worker is imported (worker/main.py).

It is a module of this name because multiprocessing would import any other main program again in each child.
"""

import gc


def main() -> None:
    """Run Celery's command line."""
    gc.disable()
    from celery.__main__ import main as run  # noqa: PLC0415 - imported as long as garbage is not looked for

    run()


if __name__ == "__main__":
    main()
