"""COCO's result files, which may have any name: what they hold is told by their first entry."""

import io
import json
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from scoring.archives.archive.limits import Member, Meter
from scoring.archives.archive.streams import GZIP, XZ, Codec, Stream, Unpacked
from scoring.competitions import CompetitionInfo, offered
from scoring.data.description import Description
from scoring.errors import Problem, Problems, Severity, SubmissionError, shown
from scoring.readers.coco_json.records import JsonError, first_record

JSON: Final = ".json"
PACKED: Final[Mapping[str, Codec]] = {f"{JSON}.gz": GZIP, f"{JSON}.xz": XZ}
"""The endings of JSON files that are compressed on their own."""

_FIELDS: Final[Mapping[str, str]] = {"detections.json": "bbox", "segmentations.json": "segmentation"}
"""The field of each entry that a file of this name is scored by."""

_EXPECTED: Final = frozenset({"image_id", "category_id", "score", *_FIELDS.values()})

SEVERAL: Final = "several-competitions"
"""The code of a file that can be scored in more than one way."""


def is_explained(problems: Problems) -> bool:
    """Whether it has been said why no result was found: a JSON file could not be read as one."""
    return any(problems.count(code) for code in ("bad-json", "bad-entry", SEVERAL))


def has_any_name(file_pattern: str) -> bool:
    """Whether a result file may have any name: then it is the only one of its competition, and JSON.

    >>> has_any_name("detections.json"), has_any_name("Main/comp3_det_{set}_{class}.txt")
    (True, False)
    """
    return file_pattern in _FIELDS


def takes_json(description: Description) -> bool:
    """Whether the results of a phase are JSON files of any name."""
    return any(has_any_name(info.file_pattern) for info in offered(description))


def is_json_name(name: str) -> bool:
    """Whether a file is called a JSON file, compressed or not.

    >>> is_json_name("sub/my_results.JSON"), is_json_name("good.json.gz"), is_json_name("good.tar.gz")
    (True, True, False)
    """
    return name.lower().endswith((JSON, *PACKED))


def unpack_json(data: bytes, name: str, meter: Meter) -> bytes:
    """The content of a file, decompressed if its name says that it is compressed.

    Every byte is counted by the meter. Raises SubmissionError where there are too many, or where the data is damaged.
    """
    codec = next((codec for ending, codec in PACKED.items() if name.lower().endswith(ending)), None)
    if codec is None:
        return data
    stream = Stream(Unpacked(io.BytesIO(data), codec), meter)
    found = stream.read(meter.limits.max_file_bytes + 1)
    meter.allow_member(name, len(found))
    return found


def choose_competition(
    data: bytes, name: str, infos: Sequence[CompetitionInfo], wanted: Collection[int] | None = None
) -> CompetitionInfo:
    """The competition that a file of another name than its own belongs to, by the fields of its first entry.

    infos: competitions that are offered; wanted: the numbers of those that were asked for, None for all, which decide where several
    are possible. Raises SubmissionError for a file that holds no list of detections, and where several are possible.

    >>> from scoring.competitions import competitions
    >>> choose_competition(b'[{"image_id": 3, "bbox": [0, 0, 4, 2]}]', "good.json", competitions("COCO")).number
    1
    """
    fields = {info: _FIELDS[info.file_pattern] for info in infos if has_any_name(info.file_pattern)}
    first = _first_entry(data, name)
    possible = [info for info, field in fields.items() if first is None or first.get(field) not in (None, [])]
    asked = [info for info in possible if wanted is None or info.number in wanted]
    chosen = asked or possible or list(fields)[:1]
    if len(chosen) == 1:
        return chosen[0]
    names = " or ".join(f"'{info.file_pattern}' ({info.title.lower()})" for info in chosen)
    both = " and ".join(f"'{fields[info]}'" for info in chosen)
    has = "the list is empty" if first is None else f"the detections have {both}"
    message = f"{has}, so the file can be scored in more than one way; call it {names}"
    raise SubmissionError(Problem(SEVERAL, message, shown(name), expected=names))


def _first_entry(data: bytes, name: str) -> Mapping[str, Any] | None:
    """The first detection of a file, None of an empty list. Raises SubmissionError for any other file."""
    try:
        first = first_record(data)
    except JsonError as error:
        raise SubmissionError(Problem("bad-json", str(error), shown(name), error.line)) from error
    if first is None or (isinstance(first, dict) and not _EXPECTED.isdisjoint(first)):
        return first
    found = shown(json.dumps(first, ensure_ascii=False))
    message = f"[0]: expected an object with a detection, found {found}"
    raise SubmissionError(Problem("bad-entry", message, shown(name), found=found, expected="an object"))


@dataclass(frozen=True, slots=True)
class FoundJson:
    """A JSON file that is a result; name: that of the competition's file where it is called so, else its path in the archive."""

    competition: CompetitionInfo
    name: str
    data: bytes


@dataclass(slots=True)
class JsonFinder:
    """Finds the JSON files of an archive that are results, one for each competition.

    wanted: the numbers of the competitions that were asked for, None for all; names: reads the names of all files of the archive,
    for where one has another name than its own: a file that is called as in `scoring.competitions` goes before.
    """

    infos: Sequence[CompetitionInfo]
    problems: Problems
    meter: Meter
    wanted: Collection[int] | None
    names: Callable[[], Sequence[str]]
    _found: dict[CompetitionInfo, str] = field(default_factory=dict)
    _unfit: list[Problem] = field(default_factory=list)
    _named: frozenset[CompetitionInfo] | None = None

    def find(self, member: Member) -> FoundJson | None:
        """A JSON file that is a result; None where it is none, which becomes a problem or a note."""
        data = unpack_json(member.read(), member.name, self.meter)
        info = self._called(member.name)
        try:
            chosen = info or choose_competition(data, member.name, self.infos, self.wanted)
        except SubmissionError as error:
            self._unfit += error.problems
            return None
        if info is None and chosen in self._all_named():
            message = f"not read: '{chosen.file_pattern}' is there, too"
            self.problems.note(Problem("ignored-file", message, shown(member.name)))
            return None
        other = self._found.setdefault(chosen, member.name)
        if other is not member.name:
            message = (
                f"a duplicate: '{shown(other)}' is a result of {chosen.name} ({chosen.title.lower()}), too"
            )
            self.problems.add(Problem("duplicate", message, shown(member.name)))
            return None
        return FoundJson(chosen, info.file_pattern if info else member.name, data)

    def end(self, severity: Severity) -> None:
        """Add what is wrong with files that are no results: a problem where there is no other file.

        severity: of a file that could be a result of several competitions, beside others.
        """
        for problem in self._unfit:
            if not self._found:
                self.problems.add(problem)
            elif problem.code == SEVERAL:
                self.problems.add(problem, severity)
            else:
                message = f"not a result file; ignored: {problem.message}"
                self.problems.note(Problem("ignored-file", message, problem.file))

    def _called(self, name: str) -> CompetitionInfo | None:
        """The competition whose file has this name, or has it before it is compressed."""
        last = name.rpartition("/")[2]
        for ending in PACKED:
            last = last[: -len(ending)] + JSON if last.lower().endswith(ending) else last
        return next((info for info in self.infos if info.file_pattern == last), None)

    def _all_named(self) -> frozenset[CompetitionInfo]:
        """The competitions whose file is in the archive under its own name."""
        if self._named is None:
            found = (self._called(name) for name in self.names())
            self._named = frozenset(info for info in found if info is not None)
        return self._named
