"""The result files of an archive, by competition, and problems of their names."""

import io
import json
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any, Final

from ..competitions import (
    JSON_FILES,
    CompetitionInfo,
    competition_of,
    competitions,
    expected_files,
    file_name_as_regex,
    is_json_name,
    is_single_file,
    offered,
    result_path,
    unknown_file,
    words_of,
)
from ..data.description import UNLIMITED, Description, Limits
from ..errors import (
    MAX_COMPARED,
    Problem,
    Problems,
    Severity,
    SubmissionError,
    as_path,
    has_parts,
    shown,
    similar_word,
)
from ..readers.coco_json.records import JsonError, first_record
from .members import GZIP, XZ, Codec, Member, Meter, Stream, Unpacked
from .opening import alone, walk

JSON: Final = JSON_FILES[0]
PACKED: Final[Mapping[str, Codec]] = dict(zip(JSON_FILES[1:], (GZIP, XZ), strict=True))
"""The endings of JSON files that are compressed on their own."""

_FIELDS: Final[Mapping[str, str]] = {"detections.json": "bbox", "segmentations.json": "segmentation"}
"""The field of each entry that a file of this name is scored by."""

_EXPECTED: Final = frozenset({"image_id", "category_id", "score", *_FIELDS.values()})

SEVERAL: Final = "several-competitions"
"""The code of a file that can be scored in more than one way."""


def is_explained(problems: Problems) -> bool:
    """Whether it has been said why no result was found: a JSON file could not be read as one."""
    return any(problems.count(code) for code in ("bad-json", "bad-entry", SEVERAL))


def takes_json(description: Description) -> bool:
    """Whether the results of a phase are JSON files of any name."""
    return any(info.has_any_name for info in offered(description))


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

    >>> from heldout_scoring.competitions import competitions
    >>> choose_competition(b'[{"image_id": 3, "bbox": [0, 0, 4, 2]}]', "good.json", competitions("COCO")).number
    1
    """
    fields = {info: _FIELDS[info.file_pattern] for info in infos if info.has_any_name}
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
    for where one has another name than its own: a file that is called as in `heldout_scoring.competitions` goes before.
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


MACOS_FILE: Final = "macos-file"
"""The code of files that macOS adds."""
HARMLESS: Final = frozenset({MACOS_FILE, "ignored-file"})
"""Codes of files that are ignored with a note."""
NOT_OFFERED: Final = "not-offered"
"""The code of files of a competition without ground truth."""
ELSEWHERE: Final = frozenset({"wrong-image-set", "unknown-competition", "nested-archive", NOT_OFFERED})
"""Codes of files that may be valid elsewhere, and so are only notes in a plain folder."""

_MOST_NAMED: Final = 30  # words in one sentence
_NUMBERED: Final = re.compile(r"(comp\d+)[_-]", re.IGNORECASE)
_ENDING: Final = re.compile(r"(?:\.[A-Za-z]{3,4})+$")
_MASK_ENDING: Final = ".png"
_MASK: Final = re.compile(r"comp\d+_[^/]+_cls/[^/]+", re.IGNORECASE)
_PACKED: Final = re.compile(r"\.(?:zip|tar|gz|tgz|xz|txz|bz2|7z|rar|zst)$", re.IGNORECASE)


def explain(path: str, description: Description, *, suggest: bool = True) -> Problem:
    """The problem with a file that is not a result file, with the expected name if it resembles one.

    suggest: look for a similar valid name, which takes milliseconds.
    """
    parts = path.split("/")
    file, name, mask = shown(path), parts[-1], "/".join(parts[-2:])
    if "__MACOSX" in parts or name.startswith("._") or name == ".DS_Store":
        return Problem(MACOS_FILE, "added by macOS; ignored", file)
    if _MASK.fullmatch(mask):
        name = mask
    numbered = _NUMBERED.match(name)
    if numbered is not None:
        return _explain_a_result(numbered[1].lower(), name, file, description, suggest=suggest)
    if _PACKED.search(name):
        return Problem("nested-archive", "a nested archive; pack the result files themselves", file)
    return Problem("ignored-file", f"not a result file; ignored{_place_of(name, description)}", file)


def _place_of(name: str, description: Description) -> str:
    """Where the mask of an image belongs that lies in another folder."""
    info = next((info for info in offered(description) if info.needs_every_file), None)
    is_mask = name.endswith(_MASK_ENDING) and name.removesuffix(_MASK_ENDING) in description.segmentation
    if info is None or not is_mask:
        return ""
    place = info.file_name.format(set=description.image_set, image=name.removesuffix(_MASK_ENDING))
    return f". A mask of this image is expected as '{place}'"


def _explain_a_result(
    competition: str, name: str, file: str, description: Description, *, suggest: bool
) -> Problem:
    dataset = description.dataset
    infos = {info.name: info for info in offered(description)}
    info = infos.get(competition)
    if info is None and any(each.name == competition for each in competitions(dataset)):
        message = f"{competition} is not offered for {dataset} {description.image_set}; leave out its files"
        return Problem(NOT_OFFERED, message, file, found=competition, expected=", ".join(infos))
    if info is None:
        message = f"unknown competition '{shown(competition)}'; {dataset} has {', '.join(infos)}"
        return Problem(
            "unknown-competition", message, file, found=shown(competition), expected=", ".join(infos)
        )
    found = file_name_as_regex(info).fullmatch(name)
    if found is not None and found["set"] != description.image_set:
        message = f"a result for the image set '{shown(found['set'])}'; expected '{description.image_set}'"
        message += _suggestion(name, info, description) if suggest else ""
        return Problem(
            "wrong-image-set", message, file, found=shown(found["set"]), expected=description.image_set
        )
    if found is not None:
        return _unknown_word(found["key"], file, info, description, suggest=suggest)
    expected = info.file_pattern_of(description.image_set).removeprefix(info.folder).lstrip("/")
    message = f"the name is not that of a result of {info.name}; expected '{expected}'"
    message += _suggestion(name, info, description) if suggest else ""
    return Problem("file-name", message, file, found=shown(name), expected=expected)


def _unknown_word(
    word: str, file: str, info: CompetitionInfo, description: Description, *, suggest: bool
) -> Problem:
    words = words_of(info, description)
    if not words:
        message = f"{description.dataset} {description.image_set} has no {info.subjects} for {info.name}; leave out its files"
        return Problem("unknown-class", message, file, found=shown(word))
    many = f"the {len(words)} {info.subjects} of {description.dataset} {description.image_set}"
    known = many if len(words) > _MOST_NAMED else ", ".join(words)
    message = f"unknown: '{shown(word)}' is none of {known}"
    if suggest and (meant := similar_word(word, words)) is not None:
        message += f"; did you mean '{meant}'?"
    return Problem("unknown-class", message, file, found=shown(word), expected=known)


def _suggestion(name: str, info: CompetitionInfo, description: Description) -> str:
    """The file of the competition of whose name this one has all words, or the class of which it is near."""
    names = dict(islice(expected_files(info, description), MAX_COMPARED))
    meant = [known for known in names if has_parts(name, known)]
    if not meant and has_parts(name, description.image_set):
        stem = _ENDING.sub("", name)
        ends = {key: known for known, key in names.items()}
        last = [similar_word(end, list(ends)) for end in (re.split(r"[_-]", stem)[-1], stem)]
        meant = [ends[key] for key in last if key is not None][:1]
    return f"; did you mean '{meant[0]}'?" if len(meant) == 1 else ""


def no_results(
    infos: Sequence[CompetitionInfo], description: Description, endings: Collection[str] = ()
) -> Problem:
    """The problem that there is no file of any of these competitions, with the name of a file of one of them.

    endings: those of the files that are there, most frequent first, for an example of the task that seems to be meant.

    >>> from heldout_scoring.competitions import competition_of
    >>> print(no_results([competition_of("VOC2012", 7)], Description("VOC2012", "val", (), (), ())))
    no result file of comp7 was found; expected files such as 'results/VOC2012/Layout/comp7_layout_val.xml'
    """
    likely = [info for end in endings for info in infos if end and info.file_pattern.endswith(end)]
    info = (*likely, *infos)[0]
    first = info.file_pattern_of(description.image_set)
    expected = f"results/{description.dataset}/{first}"
    all_of_them = len(infos) == len(offered(description))
    names = "any competition" if all_of_them else " or ".join(info.name for info in infos)
    message = f"no result file of {names} was found; expected files such as '{expected}'"
    if info.has_any_name:
        message = f"no result file of {names} was found; expected a JSON file with a list of detections, such as '{first}'"
    return Problem("no-results", message, expected=expected)


def missing_files(
    info: CompetitionInfo, missing: Sequence[str], expected: Mapping[str, str]
) -> tuple[Problem, Severity]:
    """The classes, actions or images that have no file: a problem where every file is needed, otherwise a note.

    expected: the name of every file by its key. The file of the problem is the missing one, if it is just one.

    >>> from heldout_scoring.competitions import competition_of
    >>> found, severity = missing_files(competition_of("VOC2012", 3), ["car"], {"car": "a", "cat": "b"})
    >>> print(severity, found)
    note comp3: 1 of 2 classes are missing and will not be scored: car
    """
    consequence = "; every image needs its mask" if info.needs_every_file else " and will not be scored"
    total = len(expected)
    only = expected[missing[0]] if info.needs_every_file and len(missing) == 1 else None
    listed = ", ".join(missing[:_MOST_NAMED]) + (", …" if len(missing) > _MOST_NAMED else "")
    message = f"{info.name}: {len(missing)} of {total} {info.subjects} are missing{consequence}: {listed}"
    severity = Severity.PROBLEM if info.needs_every_file else Severity.NOTE
    problem = Problem("missing-files", message, only, found=str(total - len(missing)), expected=str(total))
    return problem, severity


MAX_SUGGESTIONS: Final = 100
"""Files of an archive for which a similar valid name is looked up."""

_CHALLENGE: Final = re.compile(r"VOC20\d\d", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class ResultFile:
    """A file that belongs to a competition; key is the class, action or image that its predictions are of.

    name is the file's name as in the development kit, of COCO's files the one in the archive; read must be called before the next
    file is requested.
    """

    competition: CompetitionInfo
    key: str
    name: str
    read: Callable[[], bytes]

    @property
    def kit_name(self) -> str:
        """The name as in the development kit, also of a file that has another one."""
        pattern = self.competition.file_pattern
        return pattern if self.competition.has_any_name else self.name


def competition_files(
    path: Path | str,
    description: Description,
    number: int,
    *,
    problems: Problems,
    limits: Limits | None = None,
    alone: bool = False,
) -> Iterator[ResultFile]:
    """The files of one competition, in the order of the archive or folder.

    limits: by default the description's for an archive, none for a plain folder. alone: whether files of other competitions are a
    problem of an archive. Files with invalid names become problems. Raises SubmissionError where the
    archive cannot be read any further.
    """
    path = as_path(path)
    meter = Meter.of(path, limits or default_limits(path, description))
    everything = replace(
        description, not_offered=()
    )  # a caller who names the competition has its ground truth
    found = set[CompetitionInfo]()
    for file in result_files(path, everything, problems=problems, meter=meter, wanted=[number]):
        found.add(file.competition)
        if file.competition.number == number:
            yield file
    others = other_competitions(found, [competition_of(description.dataset, number)])
    if alone and others is not None and severity_of_strays(path) is Severity.PROBLEM:
        problems.add(others)


def other_competitions(
    found: Collection[CompetitionInfo], wanted: Collection[CompetitionInfo]
) -> Problem | None:
    """The problem with files of competitions that nobody asked for, beside or in place of those wanted; None if there are none."""
    others = sorted(info.number for info in found if info not in wanted)
    names, expected = ", ".join(f"comp{each}" for each in others), " or ".join(info.name for info in wanted)
    message = f"there are results of {names}, too; expected those of {expected} only: pack them alone"
    if len(others) == len(found):
        message = f"there are results of {names}; expected those of {expected}"
    return Problem("other-competition", message, found=names, expected=expected) if others else None


def default_limits(path: Path, description: Description) -> Limits:
    """The limits of an archive, or of a plain folder: those of lines and boxes, for it may hold any other file.

    >>> default_limits(Path("/"), Description("VOC2012", "val", (), (), ())).max_boxes
    1000
    """
    own = description.limits
    return UNLIMITED.with_counts_of(own) if path.is_dir() else own


def result_files(
    path: Path,
    description: Description,
    *,
    problems: Problems,
    meter: Meter,
    name: str | None = None,
    wanted: Collection[int] | None = None,
) -> Iterator[ResultFile]:
    """Every file of every competition; any other file becomes a note or a problem.

    name: the archive's name as uploaded, if it differs from that of the path; wanted: the numbers of the competitions that
    were asked for, None for all; a JSON file of any name that could belong to several belongs to one of these.
    """
    if takes_json(description):
        yield from _json_files(path, description, problems=problems, meter=meter, name=name, wanted=wanted)
        return
    finder = Finder(description, problems, severity_of_strays(path))
    for member in _members(path, description, meter, problems, name or path.name):
        file = finder.find(member)
        if file is not None:
            yield file


def _members(
    path: Path, description: Description, meter: Meter, problems: Problems, name: str
) -> Iterator[Member]:
    """The files of an archive or folder; a single prediction file stands at its path, where a server puts it.

    Raises SubmissionError for a single file whose name fits no competition.
    """
    if path.is_dir() or not is_single_file(name):
        yield from walk(path, meter, problems, name=name)
        return
    place = result_path(name, description.dataset, description.image_set)
    if place is None:
        message = unknown_file(shown(name), description.dataset, description.image_set)
        raise SubmissionError(Problem("file-name", message, found=shown(name)))
    yield alone(path, place, meter)


def _json_files(
    path: Path,
    description: Description,
    *,
    problems: Problems,
    meter: Meter,
    name: str | None,
    wanted: Collection[int] | None,
) -> Iterator[ResultFile]:
    """The JSON files of a phase whose results are such files of any name, alone or in an archive."""

    def names() -> list[str]:
        again = Meter.of(path, meter.limits)
        return [member.name for member in walk(path, again, Problems(), name=name, json=True)]

    severity = severity_of_strays(path)
    strays = Finder(description, problems, severity)
    finder = JsonFinder(offered(description), problems, meter, wanted, names)
    for member in walk(path, meter, problems, name=name, json=True):
        if (
            not is_json_name(member.name)
            or explain(member.name, description, suggest=False).code == MACOS_FILE
        ):
            strays.find(member)
        elif (found := finder.find(member)) is not None:
            info = found.competition
            yield ResultFile(info, info.only_key, found.name, partial(_content, found))
            del found  # and with it the content, before the next file is read
    finder.end(severity)


def _content(found: FoundJson) -> bytes:
    return found.data


def severity_of_strays(path: Path) -> Severity:
    """The severity of files that do not belong: an archive is made for submission, a folder may hold anything."""
    return Severity.NOTE if path.is_dir() else Severity.PROBLEM


@dataclass(slots=True)
class Finder:
    """Finds result files by their names; keeps track of names and folders for duplicates."""

    description: Description
    problems: Problems
    stray_severity: Severity
    expected: Mapping[str, tuple[CompetitionInfo, str]] = field(init=False)
    _seen: dict[str, str] = field(default_factory=dict)
    _folders: dict[str, bool] = field(default_factory=dict)
    _explained: int = 0
    _not_offered: set[str | None] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.expected = {
            name: (info, about)
            for info in offered(self.description)
            for name, about in expected_files(info, self.description)
        }

    def find(self, member: Member) -> ResultFile | None:
        """The result file that a member is; None for any other file, which becomes a problem or a note."""
        *_, parent, name = "", *member.name.rsplit("/", 2)
        for known in (name, f"{parent}/{name}"):
            if known in self.expected:
                info, about = self.expected[known]
                folder = member.name.removesuffix(known).rstrip("/")
                if self._is_allowed_folder(folder, info) and self._is_first(known, member):
                    return ResultFile(info, about, known, member.read)
                return None
        self._add_problem(member)
        return None

    def _is_first(self, known: str, member: Member) -> bool:
        other = self._seen.setdefault(known, member.name)
        if other is member.name:
            return True
        message = f"a duplicate: '{known}' is there more than once, also as '{shown(other)}'"
        self.problems.add(Problem("duplicate", message, shown(member.name)))
        return False

    def _is_allowed_folder(self, folder: str, info: CompetitionInfo) -> bool:
        """Whether results may be in this folder; a problem is added once for each folder."""
        if folder not in self._folders:
            self._folders[folder] = self._check_folder(folder, info)
        return self._folders[folder]

    def _check_folder(self, folder: str, info: CompetitionInfo) -> bool:
        dataset = self.description.dataset
        usual = "/".join(filter(None, ("results", dataset, info.folder)))
        around = folder.split("/") if folder else []
        other = next(
            (each for each in around if _CHALLENGE.fullmatch(each) and each.lower() != dataset.lower()), None
        )
        if other is not None:
            message = (
                f"the folder '{shown(folder)}' holds results for another year, {other}; expected '{usual}'"
            )
            self.problems.add(
                Problem("other-challenge", message, found=other, expected=dataset), self.stray_severity
            )
            return False
        for word in filter(None, (info.folder, dataset, "results")):
            if around and around[-1].lower() == word.lower():
                around.pop()
        if len(around) > 1:
            message = (
                f"the folder '{shown(folder)}' is too deep; expected '{usual}', or that in one more folder"
            )
            self.problems.add(Problem("folder-depth", message, found=shown(folder), expected=usual))
            return False
        if folder != usual and self.stray_severity is Severity.PROBLEM:
            place = f"in the folder '{shown(folder)}'" if folder else "in no folder"
            message = f"result files are {place} instead of '{usual}'; they are read all the same"
            self.problems.note(Problem("folder", message, found=shown(folder), expected=usual))
        return True

    def _add_problem(self, member: Member) -> None:
        self._explained += 1
        problem = explain(member.name, self.description, suggest=self._explained <= MAX_SUGGESTIONS)
        if problem.code == NOT_OFFERED:  # said once for all files of a competition
            if problem.found in self._not_offered:
                return
            self._not_offered.add(problem.found)
        if problem.code in HARMLESS:
            self.problems.note(problem)
        else:
            self.problems.add(problem, self.stray_severity if problem.code in ELSEWHERE else Severity.PROBLEM)


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
