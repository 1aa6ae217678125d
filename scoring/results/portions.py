"""Result files with their content, in portions that are worth a thread's while."""

from collections.abc import Iterator
from typing import Final

from scoring.results.finding import ResultFile

Content = tuple[ResultFile, bytes]

_ENOUGH: Final = 1 << 18  # bytes of a portion
_MOST: Final = 16  # files of a portion
_LARGE: Final = 32 << 20


def portions(contents: Iterator[Content]) -> Iterator[list[Content]]:
    """Small files together, because handing a file to a thread costs as much as reading it.

    The last portion may be empty.
    """
    portion, size = list[Content](), 0
    for file, data in contents:
        portion.append((file, data))
        size += len(data)
        if size >= _ENOUGH or len(portion) >= _MOST:
            yield portion
            portion, size = [], 0
    yield portion


def is_large(portion: list[Content]) -> bool:
    """Is this so much that nothing else should be in memory beside it?"""
    return sum(len(data) for _, data in portion) > _LARGE
