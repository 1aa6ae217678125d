"""Help and the pages of competitions with what they are rendered with."""

import uuid
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import scoring
from app.boards.rows import BoardAddress
from app.challenges.challenges import HELD_OUT_QUOTAS
from app.challenges.disclosure import LEAKS
from app.challenges.examples import protocols, task_rules
from app.home.home import CompetitionView, ExampleFile
from app.operations.documentation import formats
from tests.pages.challenge_samples import CLOSED
from tests.pages.drawn import EVIL
from tests.pages.views import PHASE, VAL

TRUTH = uuid.UUID(int=7)


def of_help() -> Iterator[tuple[str, dict[str, Any]]]:
    yield "help/index.html", {}
    yield "help/first_submission.html", {}
    yield "help/api.html", {"tried": None}
    yield "help/api.html", {"tried": BoardAddress(EVIL, EVIL, 3)}
    yield "help/rules.html", {"leaks": LEAKS, "quotas": HELD_OUT_QUOTAS, "shortest": 500}
    yield "help/protocols.html", {"protocols": protocols()}
    for protocol in protocols():
        yield "help/protocol.html", {"protocol": protocol}
    yield "help/protocol.html", {"protocol": replace(protocols()[0], other_names=(EVIL,))}
    yield "help/formats.html", {"formats": formats(), "phases": (PHASE, VAL)}
    yield "help/formats.html", {"formats": formats(), "phases": ()}
    for view in competition_views():
        yield "home/competition.html", {"view": view}


def competition_views() -> Iterator[CompetitionView]:
    """A competition of each task, and what a page may lack."""
    for phase, dataset in ((PHASE, "VOC2012"), (VAL, "VOC2012"), (PHASE, "COCO")):
        for info in scoring.competitions(dataset):
            yield CompetitionView(
                phase=phase,
                info=info,
                data_rule=info.own_data_rule,
                path=f"results/{dataset}/{info.file_pattern_of('test')}",
                grammar="<image> <confidence>",
                example=ExampleFile(EVIL, EVIL),
                has_example=True,
                classes=("car", EVIL),
                protocol="voc2012",
                rules=task_rules("voc2012", info.task),
                ground_truth=2,
                ground_truth_id=TRUTH,
                scorer="1",
                has_terms=phase is PHASE,
            )
    yield replace(view_without_rules(), phase=CLOSED)


def view_without_rules() -> CompetitionView:
    """A competition whose protocol this version does not know, without an example."""
    info = scoring.competition_of("VOC2012", 3)
    return CompetitionView(
        PHASE, info, "trained on anything", "results", EVIL, None, False, (), EVIL, None, 1, TRUTH, EVIL, False
    )  # fmt: skip
