"""When a starting program looks for garbage."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def kept_for_good() -> Iterator[None]:
    """Import a program without looking for garbage, and never look through what was imported.

    Modules stay; looking through them again and again while they were imported took up to a quarter of the time of a start.
    """
    gc.disable()
    try:
        yield
    finally:
        keep_what_is_there()


def keep_what_is_there() -> None:
    """Look for garbage from now on, and only in what is made from now on."""
    gc.freeze()
    gc.enable()
