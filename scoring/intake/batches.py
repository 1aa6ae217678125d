"""Batches of result files for threads."""

from collections.abc import Iterator
from typing import Final

from scoring.errors import Problem, SubmissionError
from scoring.intake.result_files import ResultFile

Content = tuple[ResultFile, bytes]

_BATCH_BYTES: Final = 1 << 19
_BATCH_FILES: Final = 16
_LARGE_BYTES: Final = 32 << 20


def contents_of(files: Iterator[ResultFile], broken: list[Problem]) -> Iterator[Content]:
    """Each file with its content; an error of the archive is added to `broken` and ends the iteration."""
    try:
        for file in files:
            yield file, file.read()
    except SubmissionError as error:
        broken.extend(error.problems)


def batches(contents: Iterator[Content]) -> Iterator[list[Content]]:
    """Batches of small files, since passing a file to a thread costs as much as reading it.

    The last batch may be empty.
    """
    batch, size = list[Content](), 0
    for file, data in contents:
        batch.append((file, data))
        size += len(data)
        if size >= _BATCH_BYTES or len(batch) >= _BATCH_FILES:
            yield batch
            batch, size = [], 0
    yield batch


def is_large(batch: list[Content]) -> bool:
    """Whether a batch is so large that no other should be in memory at the same time."""
    return sum(len(data) for _, data in batch) > _LARGE_BYTES
