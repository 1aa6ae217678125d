"""Problems for result files that are missing or have another name than they should."""

import re
from collections.abc import Collection, Mapping, Sequence
from itertools import islice
from typing import Final

from scoring.archives.json_results import has_any_name
from scoring.competitions import (
    CompetitionInfo,
    competitions,
    expected_files,
    file_name_as_regex,
    offered,
    words_of,
)
from scoring.data.description import Description
from scoring.errors import Problem, Severity, shown
from scoring.similar_names import MAX_COMPARED, has_parts, similar_word

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

    >>> from scoring.competitions import competition_of
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
    if has_any_name(info.file_pattern):
        message = f"no result file of {names} was found; expected a JSON file with a list of detections, such as '{first}'"
    return Problem("no-results", message, expected=expected)


def missing_files(
    info: CompetitionInfo, missing: Sequence[str], expected: Mapping[str, str]
) -> tuple[Problem, Severity]:
    """The classes, actions or images that have no file: a problem where every file is needed, otherwise a note.

    expected: the name of every file by its key. The file of the problem is the missing one, if it is just one.

    >>> from scoring.competitions import competition_of
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
