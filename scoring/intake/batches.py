"""Result files with their content, in portions that are worth a thread's while."""

from collections.abc import Iterator
from typing import Final

from scoring.errors import Problem, SubmissionError
from scoring.intake.result_files import ResultFile

Content = tuple[ResultFile, bytes]

_ENOUGH: Final = 1 << 18  # bytes of a portion
_MOST: Final = 16  # files of a portion
_LARGE: Final = 32 << 20


def contents_of(files: Iterator[ResultFile], broken: list[Problem]) -> Iterator[Content]:
    """Read file after file; what breaks the archive off is added to `broken`, so that files read before it still count."""
    try:
        for file in files:
            yield file, file.read()
    except SubmissionError as error:
        broken.extend(error.problems)


def batches(contents: Iterator[Content]) -> Iterator[list[Content]]:
    """Small files together, because handing a file to a thread costs as much as reading it.

    The last portion may be empty.
    """
    batch, size = list[Content](), 0
    for file, data in contents:
        batch.append((file, data))
        size += len(data)
        if size >= _ENOUGH or len(batch) >= _MOST:
            yield batch
            batch, size = [], 0
    yield batch


def is_large(batch: list[Content]) -> bool:
    """Is this so much that nothing else should be in memory beside it?"""
    return sum(len(data) for _, data in batch) > _LARGE
