"""The arguments of the command line."""

import argparse
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Final, NoReturn

from scoring.command_line.commands import check, compare, count, list_protocols, table_of_protocols
from scoring.command_line.evaluating import score
from scoring.command_line.requirements import WrongUseError
from scoring.parallel import DEFAULT_THREADS

_ABOUT: Final = """Scores and checks results. Every command prints one JSON object and exits 0, or prints
{"problems": [...]} and exits 2."""
_MOST_REPLICATES: Final = 100_000
_FEW_DIGITS: Final = re.compile(r"[0-9]{1,9}")


class _Parser(argparse.ArgumentParser):
    """Raises WrongUseError where argparse would print its usage and leave."""

    def error(self, message: str) -> NoReturn:
        raise WrongUseError("usage", f"{message}; see python -m scoring --help")


def parse(arguments: Sequence[str]) -> argparse.Namespace:
    """The command, as a function in `command`, and what it is to be called with. Raises WrongUseError.

    >>> parse(["statistics", "VOC2007", "--image-set", "test", "--json"]).tree
    PosixPath('VOC2007')
    """
    parser = _Parser("python -m scoring", description=_ABOUT, allow_abbrev=False)
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
