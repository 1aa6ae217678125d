"""Every record of the audit log has a sentence."""

import ast
import re
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from app.core.audit import Record
from app.organising.audit import FORMER_SENTENCES, SENTENCES, TOPICS, sentence

APP = Path(__file__).parents[2] / "app"
ACTION = re.compile(r"[a-z]+(?:-[a-z]+)*\.[a-z]+(?:[-_][a-z]+)*")
MAY_RECORD = re.compile(r"\baction\b|_ACTION\b|['\"][a-z]+(?:-[a-z]+)*\.[a-z]+(?:[-_][a-z]+)*['\"]")
NOW = datetime(2026, 11, 25, tzinfo=UTC)


def recorded_actions() -> Iterator[str]:
    """The actions in all calls of functions that take the name of one, and in what is called an action."""
    # what neither records nor names an action is not parsed, which would take seconds
    texts = [text for path in APP.rglob("*.py") if MAY_RECORD.search(text := path.read_text())]
    nodes = [node for text in texts for node in ast.walk(ast.parse(text))]
    recording = {
        node.name
        for node in nodes
        if isinstance(node, ast.FunctionDef)
        for each in node.args.args
        if each.arg == "action" and each.annotation and ast.unparse(each.annotation) == "str"
    }
    for node in nodes:
        parts: list[ast.AST] = []
        if isinstance(node, ast.Call):
            called = getattr(node.func, "attr", getattr(node.func, "id", ""))
            parts = list(node.args) if called in recording else []
            parts += [each.value for each in node.keywords if each.arg == "action"]
        elif (
            isinstance(node, ast.Assign) and [ast.unparse(each) for each in node.targets] == ["action"]
        ) or (
            isinstance(node, ast.AnnAssign) and ast.unparse(node.target).endswith("_ACTION") and node.value
        ):
            parts = [node]
        for each in (inner for part in parts for inner in ast.walk(part)):
            if (
                isinstance(each, ast.Constant)
                and isinstance(each.value, str)
                and ACTION.fullmatch(each.value)
            ):
                yield each.value


@pytest.mark.sampled
def test_every_action_that_is_recorded_has_a_sentence_and_no_other() -> None:
    assert sorted(set(recorded_actions())) == sorted(SENTENCES)


def test_every_action_of_a_challenge_can_be_filtered() -> None:
    of_the_site = {
        "account",
        "creation",
        "creator",
        "notice",
        "job",
        "person",
        "provider",
        "second-factor",
        "session",
        "site",
        "storage",
        "token",
        "description",
        "news",
    }

    assert {action.partition(".")[0] for action in SENTENCES} - TOPICS.keys() <= of_the_site


def record(action: str, subject: str, **facts: Any) -> Record:
    values = {"reason": "", "before": None, "after": None, "details": {}, **facts}
    return Record(1, NOW, 7, "Ash", action, subject, "VOC2007", **values)


def test_a_sentence_needs_no_recorded_value() -> None:
    told = [sentence(record(action, "team 3"), {}) for action in (*SENTENCES, *FORMER_SENTENCES)]

    assert [each for each in told if not each.startswith("Ash ") or "{" in each] == []


@pytest.mark.parametrize(
    ("made", "told"),
    [
        (
            record("phase.change", "phase 3", before={"closes_at": "1 May"}, after={"closes_at": "8 May"}),
            "Ash moved the deadline of test from 1 May to 8 May",
        ),
        (
            record("phase.change", "phase 3", before={"grace": "1 h", "quotas": "2/7"}, after={"grace": "2 h", "quotas": "3/7"}),
            "Ash changed test: grace from 1 h to 2 h; quotas from 2/7 to 3/7",
        ),
        (record("team.approve", "team 9"), "Ash approved the team Oak"),
        (
            record("role.grant", "person 4", details={"challenge_role": {"before": None, "after": "viewer"}}),
            "Ash made Elm viewer of the challenge",
        ),
        (record("quota.grant", "team 9", after={"slots": 2, "task": "detection"}), "Ash granted the team Oak 2 extra slots in detection"),
        (
            record("quota.grant", "team 9", after={"slots": 1, "task": "detection", "expires_at": "2027-01-25T23:59:59+00:00"}),
            "Ash granted the team Oak 1 extra slot in detection, until 25 Jan 2027 23:59 UTC",
        ),
        (
            record("challenge.schedule", "challenge 1", after={"opens_at": "2027-01-25T12:00:00.5+00:00"}),
            "Ash set when Birds opens by itself: 25 Jan 2027 12:00 UTC",
        ),
        (record("data-set.apply", "data set 16ed4a4a", details={"phase": "test"}), "Ash asked to apply a data set to test"),
        (record("phase.import", "phase 3", details={"new_ground_truth": 5}), "Ash applied version 5 to test"),
        (record("phase.import", "phase 3", details={"new_ground_truth": None}), "Ash changed the rules of test by an import"),
        (
            record("rescore.switch", "phase 3", before={"version": 4}, after={"version": 5}),
            "Ash had the boards of test switched to version 5, by a re-scoring",
        ),
        (record("rescore.request", "re-scoring 1", details={"runs": 2}), "Ash started re-scoring 1 of test: 2 runs"),
        (record("rescore.publish", "re-scoring 1"), "Ash published the scores of re-scoring 1 of test"),
        (record("rescore.retry", "re-scoring 1", details={"runs": 1}), "Ash retried 1 run of re-scoring 1 of test"),
        (
            record("description.rule", "challenge 1", before={"shortest": 500}, after={"shortest": 200}),
            "Ash set the length of descriptions to 200 characters",
        ),
        (
            record("challenge.pictures", "challenge 1", before={"pictures_from": None}, after={"pictures_from": "here"}),
            "Ash said where participants get the images of Birds: source from none to here",
        ),
        (
            record("pictures.change", "phase 3", before={"is_public": False}, after={"is_public": True}),
            "Ash changed who sees the images of test: public from no to yes",
        ),
        (record("team.refuse", "team {0}"), "Ash refused to approve team {0}"),
        (record("link.create", "link 65f6", details={"role": "viewer"}), "Ash made a link for a new viewer"),
        (record("link.revoke", "link 65f6", details={"role": "viewer"}), "Ash revoked a link for a new viewer"),
        (record("link.create", "anonymous link 7", details={"result": 3}), "Ash made an anonymous link to a result"),
        (
            record("link.use", "person 4", after={"role": "participant"}, details={"link": "link 65f6", "role": "owner"}),
            "Ash accepted the role of owner by a link",
        ),
        (record("link.use", "person 4", details={"link": "link 65f6"}), "Ash accepted a role by a link"),
    ],
)  # fmt: skip
def test_sentences_name_people_teams_and_dates(made: Record, told: str) -> None:
    assert (
        sentence(
            made,
            {
                "phase 3": "test",
                "team 9": "the team Oak",
                "person 4": "Elm",
                "challenge 1": "Birds",
                "re-scoring 1": "re-scoring 1 of test",
            },
        )
        == told
    )
