"""Carries out one command and prints what came of it."""

import json
import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any, Final

from scoring.command_line.arguments import parse
from scoring.command_line.requirements import WrongUseError
from scoring.errors import Problem, SubmissionError
from scoring.files import PathError
from scoring.parallel import use_threads
from scoring.readers.voc.kit_files import TreeError

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
