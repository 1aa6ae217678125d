"""Scoring and checking as commands for programs: each prints one JSON object, and exits 0 or 2."""

import argparse
import json
import os
import re
import sys
from argparse import Namespace
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, Final, NoReturn

from .analysis.images import Count, count_objects
from .archives.results import default_limits
from .competitions import CHALLENGES, CompetitionInfo, competitions, expected_files
from .data.description import UNLIMITED, Description, Limits
from .data.truth import GroundTruth
from .errors import PathError, Problem, Problems, ScoringError, SubmissionError
from .evaluation import COCO_PROTOCOL, COCO_PROTOCOLS, columns_of, evaluate, evaluate_coco
from .parallel import DEFAULT_THREADS, use_threads
from .protocols import PROTOCOLS, default_protocol
from .readers.voc_tree import TreeError, dataset_of, read_public, read_tree
from .results import Result
from .scores import ClassResult, ConfusionMatrix
from .statistics.bootstrap import Interval, intervals_of
from .statistics.ranks import compare_pairs, rank_methods, read_scoreboard
from .stored import to_plain
from .validation import validate


class WrongUseError(ScoringError):
    """What a command asks for does not exist, or its arguments are wrong; `problem` says what."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.problem = Problem(code, message)


def require(options: Namespace, *names: str) -> None:
    """Raise WrongUseError, as for any missing option, if one of these is not given."""
    missing = ", ".join(f"--{name.replace('_', '-')}" for name in names if getattr(options, name) is None)
    if missing:
        message = f"the following arguments are required: {missing}; see heldout-scoring --help"
        raise WrongUseError("usage", message)


def existing_tree(tree: Path) -> Path:
    """The folder of a challenge. Raises WrongUseError if there is none."""
    if tree.exists() and not tree.is_dir():
        message = f"expected the folder of a challenge, found '{tree}'; annotation in COCO's JSON goes with --protocol coco or lvis"
        raise WrongUseError("no-tree", message)
    if not tree.is_dir():
        raise WrongUseError("no-tree", f"there is no folder '{tree}'")
    return tree


def competition_in(tree: Path, number: int) -> CompetitionInfo:
    """The competition of this number in the tree's challenge. Raises WrongUseError if that year had none."""
    dataset = dataset_of(tree)
    known = {info.number: info for info in competitions(dataset)}
    if number not in known:
        message = f"{dataset} has no competition {number}; it has {', '.join(map(str, known))}"
        raise WrongUseError("unknown-competition", message)
    return known[number]


def find_results(path: Path, info: CompetitionInfo | None, description: Description) -> Path:
    """The folder that holds the competition's files, somewhere at or below the path; the path itself if none does, or it is an archive.

    info: None of an archive that may hold any. So a whole development kit can be named without its thousands of images being taken
    for results. Folders of other challenges are passed over. Raises WrongUseError where several folders hold such files, and for what is neither a folder
    nor a file, such as a pipe, which cannot be read twice.
    """
    if info is None or not path.is_dir():
        return _regular(path)
    found = list(_folders(path, info, description))
    if len(found) > 1:
        places = ", ".join(f"'{place}'" for place in found)
        raise WrongUseError(
            "several-results", f"several folders hold results of {info.name}; name one of {places}"
        )
    return found[0] if found else path


def _regular(path: Path) -> Path:
    if path.exists() and not path.is_file():
        raise WrongUseError(
            "special-file", f"expected a folder or an archive, found a device or a pipe: '{path}'"
        )
    return path


def _folders(path: Path, info: CompetitionInfo, description: Description) -> Iterator[Path]:
    names = [Path(name) for name, _ in expected_files(info, description)]
    if not names:
        return
    files = {name.name for name in names}
    inner = names[0].parent  # of segmentation: its files lie one folder deeper
    others = {name.lower() for name in CHALLENGES} - {description.dataset.lower()}
    for place, folders, here in os.walk(path):
        folders[:] = sorted(name for name in folders if name.lower() not in others)
        folder = Path(place)
        if not files.isdisjoint(here) and folder.name == (inner.name or folder.name):
            yield folder.parent if inner.name else folder


def score(options: Namespace) -> Mapping[str, Any]:
    """Score results against a tree; with `bootstrap` each value has an interval of 95 %."""
    if options.protocol in COCO_PROTOCOLS:
        return score_coco_files(options)
    if options.masks or options.explain:
        raise WrongUseError("usage", "--masks and --explain go with --protocol coco or lvis only")
    tree = existing_tree(options.truth)
    require(options, "competition", "image_set")
    protocol = _protocol(options.protocol, dataset_of(tree))
    info = competition_in(tree, options.competition)
    problems = Problems()
    truth = read_tree(tree, options.image_set, problems=problems)
    _check_classes(options.classes, columns_of(truth.description, info.number, protocol), info.number)
    results = find_results(options.results, info, truth.description)
    result = evaluate(
        results,
        truth,
        competition=info.number,
        protocol=protocol,
        classes=options.classes,
        accepted=options.accepted,
    )
    result = replace(result, notes=(*problems.warnings, *result.notes))
    if not options.bootstrap:
        return _plain(result, {})
    return _plain(result, intervals_of(result, truth, replicates=options.bootstrap).by_class())


def _protocol(name: str | None, dataset: str) -> str:
    if name is not None and name not in PROTOCOLS:
        raise WrongUseError("unknown-protocol", f"unknown protocol '{name}'; expected {', '.join(PROTOCOLS)}")
    try:
        return name or default_protocol(dataset)
    except LookupError as error:
        raise WrongUseError("no-protocol", str(error)) from None


def _check_classes(classes: Sequence[str] | None, known: Sequence[str], number: int) -> None:
    unknown = [name for name in classes or () if name not in known]
    if unknown:
        message = f"unknown: {', '.join(unknown)}; competition {number} has {', '.join(known)}"
        raise WrongUseError("unknown-class", message)


def _plain(report: Result, bounds: Mapping[str | None, Interval]) -> dict[str, Any]:
    confusion: dict[str, Any] = {}
    for each in report.exhibits:
        if isinstance(each, ConfusionMatrix):
            confusion = {"labels": each.labels, "confusion": each.counts}
    return {
        "protocol": report.protocol,
        "competition": report.competition,
        "measure": report.measure,
        "headline": report.headline,
        "reason": report.headline_reason,
        **_ends(bounds.get(None)),
        "classes": {
            each.name: {**_plain_class(each), **_ends(bounds.get(each.name))} for each in report.classes
        },
        **confusion,
        "scorer": report.scorer,
        "receipt": report.receipt,
        "notes": [to_plain(note) for note in report.notes],
    }


def _plain_class(scored: ClassResult) -> dict[str, Any]:
    return {
        "value": scored.value,
        "reason": scored.reason,
        "positives": scored.positives,
        "predictions": scored.predictions,
    }


def _ends(interval: Interval | None) -> dict[str, float | None]:
    low, high = (None, None) if interval is None else (interval.low, interval.high)
    return {"low": low, "high": high}


def score_coco_files(options: Namespace) -> Mapping[str, Any]:
    """Score one results file against one annotation file; with `explain` say why figures are below 1."""
    asked = ("competition", "image_set", "classes", "bootstrap")
    given = [f"--{each.replace('_', '-')}" for each in asked if getattr(options, each) is not None]
    given += ["--accepted"] if options.accepted else []
    if given:
        verb = "does" if len(given) == 1 else "do"
        raise WrongUseError("usage", f"{', '.join(given)} {verb} not go with --protocol {options.protocol}")
    if options.explain and options.protocol != COCO_PROTOCOL:
        raise WrongUseError("usage", f"--explain goes with --protocol {COCO_PROTOCOL} only")
    absent = [path for path in (options.truth, options.results) if not path.exists()]
    if absent:
        raise SubmissionError(*(Problem("no-file", f"there is no file '{path}'") for path in absent))
    try:
        result = evaluate_coco(options.results, options.truth, masks=options.masks, protocol=options.protocol)
    except LookupError as error:
        raise WrongUseError("no-lvis", str(error)) from None
    explanations = {"explanations": to_plain(result.explain())} if options.explain else {}
    return _plain_coco(result) | explanations


def _plain_coco(result: Result) -> dict[str, Any]:
    return {
        "protocol": result.protocol,
        "measure": result.measure,
        "headline": result.headline,
        "figures": result.figures,
        "classes": {each.name: {**_plain_class(each), "figures": each.figures} for each in result.classes},
        "receipt": result.receipt,
        "notes": [to_plain(note) for note in result.notes],
    }


def check(options: Namespace) -> Mapping[str, Any]:
    """Check results; `problems` is empty where they can be scored.

    Without a competition an archive is checked for all that it has files of, as a server does; a folder needs one.
    """
    if options.truth.is_file():
        return _check_coco(options)
    require(options, *(("competition",) if options.results.is_dir() else ()), "image_set")
    tree = existing_tree(options.truth)
    info = None if options.competition is None else competition_in(tree, options.competition)
    description = read_public(tree, options.image_set)
    results = find_results(options.results, info, description)
    numbers = None if info is None else (info.number,)
    limits = _limits(results, description)
    return validate(results, description, competitions=numbers, limits=limits).as_json()


def _limits(results: Path, description: Description) -> Limits:
    """Those under which `evaluate` reads files: annotation says nothing of the lines and boxes that a server allows."""
    return default_limits(results, description).with_counts_of(UNLIMITED)


def _check_coco(options: Namespace) -> Mapping[str, Any]:
    """Check results in COCO's JSON against the images and classes of an annotation file."""
    truth = GroundTruth.from_coco(options.truth, image_set=options.image_set or "all")
    if not options.results.exists():
        raise WrongUseError("no-file", f"there is no file '{options.results}'")
    numbers = None if options.competition is None else (options.competition,)
    limits = _limits(options.results, truth.description)
    return validate(options.results, truth.description, competitions=numbers, limits=limits).as_json()


def count(options: Namespace) -> Mapping[str, Any]:
    """Count what is annotated in an image set; difficult objects are not among the objects, but apart."""
    problems = Problems()
    truth = read_tree(existing_tree(options.tree), options.image_set, problems=problems)
    table = count_objects(truth)
    return {
        "dataset": truth.description.dataset,
        "image_set": truth.description.image_set,
        "classes": {row.name: _row(row) for row in table.rows},
        "total": _row(table.total),
        "notes": [to_plain(warning) for warning in problems.warnings],
    }


def _row(row: Count) -> dict[str, int]:
    return {"images": row.images, "objects": row.objects, "difficult": row.difficult}


def compare(options: Namespace) -> Mapping[str, Any]:
    """Rank the methods of a table in each class, and test whether their mean ranks differ.

    Best first; `groups` names methods that cannot be told apart, `pairs` has the p-value of each difference after Nemenyi
    and after Holm. Methods without a value in every class are left out.
    """
    table = read_scoreboard(options.table)
    if not table.complete().methods:
        raise WrongUseError("no-method", "no method of the table has a value in every class")
    found = rank_methods(table)
    names = [method.name for method in found.methods]
    return {
        "mean_ranks": {method.name: method.mean_rank for method in found.methods},
        "medians": {method.name: method.median for method in found.methods},
        "friedman": {"statistic": found.statistic, "degrees": found.degrees, "p": found.p},
        "level": found.level,
        "critical_difference": found.critical_difference,
        "groups": [[names[place] for place in group] for group in found.groups],
        "pairs": [asdict(pair) for pair in compare_pairs(table)],
        "left_out": found.left_out,
        "classes": found.classes,
    }


def list_protocols(_asked: Namespace) -> Mapping[str, Any]:
    """Every protocol by name; of each its title, other names and the titles of the tasks that it scores."""
    return {
        "protocols": {
            row.name: {
                "title": row.title,
                "other_names": [name for name, each in PROTOCOLS.items() if each is row and name != row.name],
                "tasks": {each.task.name: each.task.title for each in row.tasks},
            }
            for row in PROTOCOLS.values()
        }
    }


def table_of_protocols(listed: Mapping[str, Any]) -> str:
    """What `list_protocols` returns, for people to read."""
    lines: list[str] = []
    for name, row in listed["protocols"].items():
        lines += [
            f"{', '.join((name, *row['other_names']))}: {row['title']}",
            f"  {'; '.join(row['tasks'].values())}",
        ]
    return "\n".join(lines)


_ABOUT: Final = """Scores and checks results. Every command prints one JSON object and exits 0, or prints
{"problems": [...]} and exits 2."""
_MOST_REPLICATES: Final = 100_000
_FEW_DIGITS: Final = re.compile(r"[0-9]{1,9}")


class _Parser(argparse.ArgumentParser):
    """Raises WrongUseError where argparse would print its usage and leave."""

    def error(self, message: str) -> NoReturn:
        raise WrongUseError("usage", f"{message}; see heldout-scoring --help")


def parse(arguments: Sequence[str]) -> argparse.Namespace:
    """The command, as a function in `command`, and what it is to be called with. Raises WrongUseError.

    >>> parse(["statistics", "VOC2007", "--image-set", "test", "--json"]).tree
    PosixPath('VOC2007')
    """
    parser = _Parser("heldout-scoring", description=_ABOUT, allow_abbrev=False)
    commands = parser.add_subparsers(metavar="COMMAND", required=True)
    _add_evaluate(commands.add_parser("evaluate", allow_abbrev=False, help="score results"))
    _add_validate(commands.add_parser("validate", allow_abbrev=False, help="say what is wrong with results"))
    counting = commands.add_parser("statistics", allow_abbrev=False, help="count images and objects")
    counting.add_argument("tree", type=_path, metavar="TREE", help="folder of a challenge, VOCdevkit/VOC2007")
    counting.add_argument("--image-set", required=True, metavar="SET")
    counting.set_defaults(command=count)
    testing = commands.add_parser(
        "significance", allow_abbrev=False, help="compare methods over many classes"
    )
    testing.add_argument(
        "table", type=_path, metavar="TABLE.csv", help="a row for each method, a column for each class"
    )
    testing.set_defaults(command=compare)
    listing = commands.add_parser("protocols", allow_abbrev=False, help="list the protocols and their tasks")
    listing.set_defaults(command=list_protocols, text=table_of_protocols)
    for command in commands.choices.values():
        command.add_argument("--threads", type=_threads, default=DEFAULT_THREADS, metavar="N")
        command.add_argument(
            "--json", action="store_true", help="print JSON, as every command but `protocols` does anyhow"
        )
    return parser.parse_args(arguments)


def _add_evaluate(parser: argparse.ArgumentParser) -> None:
    _add_results(parser)
    parser.add_argument(
        "--protocol",
        help="whose rules: voc2006 to voc2012 …, coco, lvis; those of the challenge's year if left out",
    )
    parser.add_argument(
        "--masks", action="store_true", help="coco, lvis: score segmentations instead of boxes"
    )
    parser.add_argument("--explain", action="store_true", help="coco: say why figures are below 1")
    parser.add_argument("--classes", type=_names, metavar="A,B", help="score and average these only")
    parser.add_argument(
        "--bootstrap", type=_replicates, metavar="N", help="add intervals from so many replicates, best 1000"
    )
    parser.add_argument(
        "--accepted",
        action="store_true",
        help="score what the development kits score, such as boxes that end before they begin",
    )
    parser.set_defaults(command=score)


def _add_validate(parser: argparse.ArgumentParser) -> None:
    _add_results(parser)
    parser.set_defaults(command=check)


def _add_results(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--competition", type=_number, metavar="N", help="its number in that year")
    parser.add_argument(
        "--truth",
        type=_path,
        required=True,
        metavar="PATH",
        help="folder of a challenge; coco: instances.json",
    )
    parser.add_argument("--image-set", metavar="SET", help="such as val")
    parser.add_argument(
        "--results",
        type=_path,
        required=True,
        metavar="PATH",
        help="folder or archive; coco: detections.json",
    )


def _path(text: str) -> Path:
    if not text:  # would be the working folder, and is a variable that was never set
        raise argparse.ArgumentTypeError("expected a path, found nothing")
    return Path(text)


def _number(text: str) -> int:
    if not _FEW_DIGITS.fullmatch(text):
        raise argparse.ArgumentTypeError(f"expected a number, found '{text}'")
    return int(text)


def _names(text: str) -> tuple[str, ...]:
    names = tuple(name.strip() for name in text.split(","))
    if not all(names):
        raise argparse.ArgumentTypeError(f"expected names with commas between them, found '{text}'")
    return names


def _threads(text: str) -> int:
    if not (_FEW_DIGITS.fullmatch(text) and int(text) >= 1):
        raise argparse.ArgumentTypeError(f"expected a number of threads, found '{text}'")
    return int(text)


def _replicates(text: str) -> int:
    if not (_FEW_DIGITS.fullmatch(text) and 1 <= int(text) <= _MOST_REPLICATES):
        raise argparse.ArgumentTypeError(f"expected 1 to {_MOST_REPLICATES}, found '{text}'")
    return int(text)


_DONE: Final = 0
_REFUSED: Final = 2
_INTERRUPTED: Final = 130  # as shells count it


def main(arguments: Sequence[str]) -> int:
    """Carry out a command and return its exit code; whatever goes wrong becomes JSON, too.

    >>> main(["statistics", "nowhere", "--image-set", "val"])  # doctest: +ELLIPSIS
    {"problems": [{"code": "no-tree", "message": "there is no folder 'nowhere'", ...}]}
    2
    """
    try:
        options = parse(arguments)
        with use_threads(options.threads):
            output: Mapping[str, Any] = options.command(options)
        text = options.text(output) if "text" in options and not options.json else None
    except KeyboardInterrupt:  # pragma: no cover - tested, but tracing ends where a signal strikes
        return _INTERRUPTED
    except Exception as error:  # noqa: BLE001 - a program that calls us reads JSON, never a traceback
        text, output = None, {"problems": [asdict(problem) for problem in _problems_of(error)]}
    try:
        print(text or _as_json(output), flush=True)  # noqa: T201 - this is what the program is for
    except OSError:  # the reader has gone, or its disk is full
        return _discard_output()
    return _REFUSED if output.get("problems") else _DONE


def _as_json(output: Mapping[str, Any]) -> str:
    """The output as one line of ASCII; bytes of a name that are no UTF-8 become question marks, for JSON has none."""
    text = json.dumps(output, allow_nan=False, ensure_ascii=False)
    return json.dumps(json.loads(text.encode("utf-8", "replace")))


def _discard_output() -> int:
    """Keep Python from flushing to a closed output when it ends."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)
    return _REFUSED


def _problems_of(error: Exception) -> Sequence[Problem]:
    match error:
        case SubmissionError() | TreeError():
            return error.problems
        case ImportError():
            return (Problem("not-installed", str(error)),)
        case WrongUseError():
            return (error.problem,)
        case PathError():
            return (Problem("no-file", str(error)),)
        case OSError():
            name = None if error.filename is None else str(error.filename)
            return (Problem("no-file", f"this cannot be read ({error.strerror})", name),)
        case _:
            message = f"this should not have happened; please report it: {type(error).__name__}: {error}"
            return (Problem("unexpected", message),)
