"""`evaluate --protocol coco` and `lvis`: detections in COCO's JSON against annotation in COCO's JSON."""

from argparse import Namespace
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from scoring.codec import to_plain
from scoring.command_line.wrong_use import WrongUseError
from scoring.tasks.coco.scoring import PROTOCOL, evaluate_coco


def score_coco_files(options: Namespace) -> Mapping[str, Any]:
    """Score one results file against one annotation file; with `explain` say why figures are below 1."""
    for option in ("competition", "image_set", "classes", "bootstrap"):
        if getattr(options, option) is not None:
            message = f"--{option.replace('_', '-')} does not go with --protocol {options.protocol}"
            raise WrongUseError("usage", message)
    if options.explain and options.protocol != PROTOCOL:
        raise WrongUseError("usage", f"--explain goes with --protocol {PROTOCOL} only")
    try:
        result = evaluate_coco(
            _file(options.truth),
            _file(options.results),
            masks=options.masks,
            file=options.results.name,
            protocol=options.protocol,
        )
    except LookupError as error:
        raise WrongUseError("no-lvis", str(error)) from None
    return result.to_plain() | (
        {"explanations": [to_plain(each) for each in result.explain()]} if options.explain else {}
    )


def _file(path: Path) -> bytes:
    if path.is_dir():
        raise WrongUseError("no-file", f"expected a JSON file, found the folder '{path}'")
    return path.read_bytes()
