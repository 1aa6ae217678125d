"""The same annotation is recognised in other phases and challenges: quotas are shared, and what one hides no other publishes."""

import uuid
from collections.abc import Iterator, Sequence
from itertools import count
from typing import Any, Final

import pytest
from fastapi import FastAPI
from sqlalchemy import select, update
from starlette.testclient import TestClient

from app.challenges import challenges, same_labels
from app.challenges.challenges import PhaseView
from app.intake import keys
from app.models import Challenge, ChallengeVisibility, Disclosure, GroundTruth, Intake, Phase, Quota, stored
from app.platform import Platform
from app.submissions import quotas
from tests.pages.data_sets import jpeg, zipped
from tests.pages.test_accounts import registered
from tests.pages.test_intake_reading import ORGANISE, Place
from tests.system.rows import made

NUMBERS: Final = count(1)
IMAGES: Final = tuple(f"image_{number:02}" for number in range(20))
Lines = Sequence[str]


@pytest.fixture(scope="module")
def place(app: FastAPI, platform: Platform) -> Iterator[Place]:
    client = TestClient(app, headers={"Accept": "application/json"}, follow_redirects=False)
    registered(client, "organiser@example.org")
    keys.check(platform)
    yield Place(platform, client)
    client.close()


@pytest.fixture
def lines() -> Lines:
    """Annotation of twenty images that no other test has."""
    number = next(NUMBERS)
    return tuple(
        f"{image}.jpg,{'cat' if row % 2 else 'dog'},1,1,{10 + row},{10 + number}"
        for row, image in enumerate(IMAGES)
    )


def table(lines: Lines) -> bytes:
    return "\n".join(("image,class,left,top,right,bottom", *lines, "")).encode()


def applied(
    place: Place, role: str, lines: Lines, code: str | None = None, phase: str = "test", **options: Any
) -> tuple[str, dict[str, Any]]:
    """Apply annotation as a phase of a challenge, by default a new one that is open; return its code and the data set."""
    code = code or place.challenge()
    intake = place.send(code, (role, "boxes.csv", table(lines)))
    place.read(intake)
    return code, place.apply(intake, set=f"{role}-0", phase=phase, **options)


def show(place: Place, code: str, visibility: ChallengeVisibility) -> None:
    with place.platform.transaction() as session:
        session.execute(update(Challenge).where(Challenge.code == code).values(visibility=visibility))


def view_of(place: Place, code: str, phase: str = "test") -> PhaseView:
    return challenges.phase_page(place.platform, code, phase)


def test_two_phases_of_a_challenge_share_their_quotas(place: Place, lines: Lines) -> None:
    code, _ = applied(place, "hidden", lines, quotas="3/1, 9/7")

    applied(place, "hidden", lines[::-1], code, "final", quotas="2/1, 9/365")

    for each in ("test", "final"):
        view = view_of(place, code, each)
        assert view.shares_quotas
        assert [(quota.results, quota.days) for quota in view.quotas] == [(2, 1), (9, 7), (9, 365)]


def test_a_renamed_data_set_shares_its_quotas_and_other_labels_do_not(place: Place, lines: Lines) -> None:
    one, _ = applied(place, "hidden", lines)
    other = (*lines[:-1], lines[-1].replace("cat", "dog"))

    copy, _ = applied(place, "hidden", lines, phase="evaluation")
    changed, _ = applied(place, "hidden", other)

    assert view_of(place, one).shares_quotas
    assert view_of(place, copy, "evaluation").shares_quotas
    assert not view_of(place, changed).shares_quotas


def test_results_in_a_phase_with_the_same_labels_count(place: Place) -> None:
    one, same, other = rows = [made(place.platform) for _ in range(3)]
    with place.platform.transaction() as session:
        for each, labels in zip(rows, ("same", "same", "other"), strict=True):
            of_phase = update(GroundTruth).where(GroundTruth.phase_id == each.phase_id)
            session.execute(of_phase.values(labels=f"{labels} {one.phase_id}"))
            hidden = update(Phase).where(Phase.id == each.phase_id)
            session.execute(hidden.values(disclosure=Disclosure.CLASSES, stored_quotas=stored([Quota(3, 7)])))
    one.result()

    with place.platform.transaction() as session:
        found = [
            quotas.counted_results(session, each.phase_id, {3: "detection"}, one.team_id, one.user_id, None)
            for each in (one, same, other)
        ]

    assert [len(each) for each in found] == [1, 1, 0]


def test_a_copied_draft_shares_quotas_only_once_it_is_open(place: Place, lines: Lines) -> None:
    code, _ = applied(place, "hidden", lines)
    draft = place.challenge()
    show(place, draft, ChallengeVisibility.DRAFT)

    applied(place, "hidden", lines, draft)
    applied(place, "hidden", lines, draft, "final")

    assert not view_of(place, code).shares_quotas
    [final] = {len(view_of(place, draft, each).quotas) for each in ("test", "final")}
    assert final == len(view_of(place, draft).own_quotas)
    show(place, draft, ChallengeVisibility.LISTED)
    assert view_of(place, code).shares_quotas


@pytest.mark.parametrize("visibility", [ChallengeVisibility.LISTED, ChallengeVisibility.DRAFT])
def test_a_public_copy_of_what_an_open_challenge_hides_is_refused(
    place: Place, lines: Lines, visibility: ChallengeVisibility
) -> None:
    code, _ = applied(place, "hidden", lines)
    copy = place.challenge()
    show(place, copy, visibility)

    _, refused = applied(place, "public", lines[::-1], copy, "val")
    _, own = applied(place, "public", lines, code, "val")

    for each in (refused, own):
        assert each["state"] == "read"
        assert "another phase of this server keeps the same annotation hidden" in each["message"]
        assert code not in each["message"]


def test_a_draft_refuses_nothing_to_others(place: Place, lines: Lines) -> None:
    draft = place.challenge()
    show(place, draft, ChallengeVisibility.DRAFT)
    applied(place, "hidden", lines, draft)

    _, public = applied(place, "public", lines)

    assert public["state"] == "applied"


def test_what_was_public_first_is_blocked_by_nobody_who_hides_it_later(place: Place, lines: Lines) -> None:
    first, _ = applied(place, "public", lines, phase="val")
    applied(place, "hidden", lines)

    _, third = applied(place, "public", lines)
    _, again = applied(place, "public", (*lines, "more.jpg,cat,1,1,5,5"), first, "val")
    _, back = applied(place, "public", lines, first, "val")

    assert [each["state"] for each in (third, again, back)] == ["applied"] * 3


def test_a_phase_that_stays_hidden_elsewhere_is_not_disclosed(place: Place, lines: Lines) -> None:
    code, _ = applied(place, "hidden", lines)
    applied(place, "hidden", lines)
    wanted = {"disclosure": "full", "annotation_is_public": True, "reason": "it is public"}
    phase = view_of(place, code)

    answer = place.organiser.put(f"{ORGANISE}/phases/{phase.id}/disclosure", json=wanted)

    assert answer.status_code == 409
    assert "another phase keeps the same annotation hidden" in answer.text


def test_labels_are_recognised_under_the_names_that_images_had_before_they_got_neutral_ones(
    place: Place, lines: Lines
) -> None:
    pictures = zipped({f"{image}.jpg": jpeg(shade=number) for number, image in enumerate(IMAGES)})
    code = place.challenge()
    intake = place.send(code, ("hidden", "boxes.csv", table(lines)), ("images", "pictures.zip", pictures))
    with place.platform.transaction() as session:
        session.execute(update(Intake).where(Intake.id == uuid.UUID(intake)).values(is_neutral=True))
    place.read(intake)
    hidden = place.apply(intake)

    _, public = applied(place, "public", lines)

    assert hidden["state"] == "applied", hidden["message"]
    description = challenges.phase_description(place.platform, code, "test")
    assert description.images[0].id.isdigit()
    assert "keeps the same annotation hidden" in public["message"]


def test_a_worker_fills_in_what_versions_of_earlier_releases_lack(place: Place, lines: Lines) -> None:
    code, _ = applied(place, "hidden", lines)
    [truth] = truths_of(place, code)
    earlier = {"labels": None, "image_labels_key": None}
    with place.platform.transaction() as session:
        session.execute(update(GroundTruth).where(GroundTruth.id == truth.id).values(earlier))
    copy, _ = applied(place, "hidden", lines)
    before = view_of(place, copy).shares_quotas

    while any(each.labels is None for each in truths_of(place, code)):
        same_labels.fill_in(place.platform)

    [filled] = truths_of(place, code)
    assert not before
    assert view_of(place, copy).shares_quotas
    assert (filled.labels, filled.image_labels_key) == (truth.labels, truth.image_labels_key)


def truths_of(place: Place, code: str) -> list[GroundTruth]:
    with place.platform.transaction() as session:
        statement = select(GroundTruth).where(GroundTruth.phase_id == place.phase_id(code))
        return list(session.scalars(statement))
