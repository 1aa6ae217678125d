"""The result files of an archive, read and matched."""

import hashlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from scoring.archives.file_names import missing_files, no_results
from scoring.archives.json_results import is_explained
from scoring.archives.result_files import Content, ResultFile, batches, contents_of, is_large
from scoring.competitions import CompetitionInfo, expected_files
from scoring.errors import Problem, Problems, SubmissionError
from scoring.parallel import parallel_map
from scoring.readers.image_index import ImageIndex
from scoring.tasks.task import Keyed, ReadFile, ReadFiles


@dataclass(frozen=True, slots=True, eq=False)
class _Batch:
    """Some result files, read and matched: their keys, the hash of each by its name, their problems and notes."""

    problems: Problems = field(default_factory=Problems)
    keys: set[str] = field(default_factory=set)
    hashes: dict[str, str] = field(default_factory=dict)
    matched: list[Keyed[Any]] = field(default_factory=list)


@dataclass(slots=True)
class ResultReader:
    """Reads and matches result files, in batches and in several threads; collects hashes, problems and notes.

    broken: what made the archive unreadable from some file on.
    """

    parse: ReadFile[Any]
    parse_together: ReadFiles[Any]
    match: Callable[[Iterator[Keyed[Any]]], Iterator[Keyed[Any]]]
    images: ImageIndex
    problems: Problems = field(default_factory=Problems)
    hashes: dict[str, str] = field(default_factory=dict)
    keys: set[str] = field(default_factory=set)
    broken: list[Problem] = field(default_factory=list)

    def read(self, files: Iterator[ResultFile]) -> Iterator[Keyed[Any]]:
        """The matched values of each file, in the order of the files."""
        for batch in parallel_map(self._read_batch, batches(contents_of(files, self.broken)), alone=is_large):
            self.problems.join(batch.problems)
            self.keys |= batch.keys
            self.hashes |= batch.hashes
            yield from batch.matched

    def _read_batch(self, contents: Sequence[Content]) -> _Batch:
        batch = _Batch(Problems(mistakes=self.problems.mistakes))
        batch.matched.extend(self.match(self._parse(contents, batch)))
        return batch

    def _parse(self, contents: Sequence[Content], batch: _Batch) -> Iterator[Keyed[Any]]:
        for file, data in contents:
            batch.keys.add(file.key)
            batch.hashes[file.kit_name] = hashlib.sha256(data).hexdigest()
        found = self.parse_together(
            [data for _, data in contents],
            self.images,
            files=[file.name for file, _ in contents],
            problems=batch.problems,
        )
        for place, (file, data) in enumerate(contents):
            if found is not None:
                yield Keyed(file.key, found[place])
            else:
                yield Keyed(file.key, self.parse(data, self.images, file=file.name, problems=batch.problems))

    def raise_problems(self, info: CompetitionInfo) -> None:
        """Raise SubmissionError if there is any problem, missing files included."""
        self.problems.extend(self.broken)
        if not self.broken:  # the rest of a broken archive may hold what is missing
            self._add_missing_files(info)
        if self.problems.listed:
            raise SubmissionError(*self.problems.listed)

    def _add_missing_files(self, info: CompetitionInfo) -> None:
        expected = {key: name for name, key in expected_files(info, self.images.description)}
        missing = [key for key in expected if key not in self.keys]
        if not self.keys:
            if not is_explained(self.problems):
                self.problems.add(no_results([info], self.images.description))
        elif missing:
            self.problems.add(*missing_files(info, missing, expected))
