"""Contexts for the documentation and the pages of competitions."""

import uuid
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import heldout_scoring
from app.boards.rows import BoardKey
from app.challenges.protocols import protocols, task_rules
from app.challenges.rules import rules_of
from app.core.problems import PROBLEMS
from app.home.home import CompetitionView, ExampleFile
from app.operations.documentation import Call, CallGroup, Exchange, Field, Operation, formats
from app.operations.documentation_site import (
    EXAMPLE_ROWS,
    FILES,
    NAVIGATION,
    Passage,
    neighbours,
    page_at,
    pages_below,
    with_examples_of,
)
from tests.pages.challenge_samples import CLOSED
from tests.pages.drawn import EVIL
from tests.pages.views import PHASE, VAL

TRUTH = uuid.UUID(int=7)


def of_documentation() -> Iterator[tuple[str, dict[str, Any]]]:
    for address in FILES:
        context: dict[str, Any] = {"page": page_at(address), "below": pages_below(address), **at(address)}
        if address == "/docs":
            yield "docs/index.html", {**context, "words": "", "found": ()}
            for found in ((Passage("/docs", EVIL, EVIL, EVIL),), ()):
                yield "docs/index.html", {**context, "words": EVIL, "found": found}
        else:
            yield "docs/page.html", context
    yield (
        "docs/page.html",
        {
            "page": with_examples_of(page_at("/docs/api"), EVIL, BoardKey(EVIL, EVIL, 3)),
            "below": (),
            **at("/docs/api"),
        },
    )
    yield "docs/components.html", {"rows": EXAMPLE_ROWS, **at("/docs/components")}
    yield "docs/protocols.html", {"protocols": protocols(), **at("/docs/protocols")}
    for protocol in (*protocols(), replace(protocols()[0], other_names=(EVIL,))):
        yield "docs/protocol.html", {"protocol": protocol, **at(f"/docs/protocols/{protocol.name}")}
    for phases in ((PHASE, VAL), ()):
        yield "docs/formats.html", {"formats": formats(), "phases": phases, **at("/docs/formats")}
    for view in competition_views():
        yield "home/competition.html", {"view": view, "phases_of_all": (view.phase,), "rules_of": rules_of}


def of_reference(field: Field) -> Iterator[tuple[str, dict[str, Any]]]:
    put = Call("PUT", f"/api/v1/{EVIL}", "upload.create", f"`{EVIL}`")
    get = Call("GET", "/", "public.read", "Read")
    group, none = CallGroup(EVIL, EVIL, EVIL, (put, get)), CallGroup("data", "Data", "Files.", ())
    described = (
        Operation(put, (EVIL, f"`{EVIL}`"), (field,), "201 Created", EVIL, EVIL),
        Operation(get, ("Read",), (), "204 No Content", "curl", ""),
    )
    for groups, first in (((group, none), Exchange(EVIL, EVIL)), ((), None)):
        yield "docs/reference.html", {"groups": groups, "first": first, "example": EVIL, **at("/api/docs")}
    for found, calls in ((group, described), (none, ())):
        yield "docs/calls.html", {"groups": (group, none), "group": found, "calls": calls, **at("/api/docs")}
    for problems in (PROBLEMS.values(), (PROBLEMS["quota"],)):
        yield "docs/problems.html", {"problems": problems, **at("/problems")}


def at(address: str) -> dict[str, Any]:
    return {"navigation": NAVIGATION, "here": address, "beside": neighbours(address)}


def competition_views() -> Iterator[CompetitionView]:
    """A competition of each task, and one that lacks everything optional."""
    for phase, dataset in ((PHASE, "VOC2012"), (VAL, "VOC2012"), (PHASE, "COCO")):
        for info in heldout_scoring.competitions(dataset):
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
                largest=1024,
            )
    yield replace(view_without_rules(), phase=CLOSED)


def view_without_rules() -> CompetitionView:
    """A competition without an example whose protocol this version does not know."""
    info = heldout_scoring.competition_of("VOC2012", 3)
    return CompetitionView(
        PHASE, info, "trained on anything", "results", EVIL, None, False, (), EVIL, None, 1, TRUTH, EVIL, False, 1024
    )  # fmt: skip
