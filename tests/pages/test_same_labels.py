"""The same annotation is recognised in other phases and challenges: quotas are shared, and what one hides no other publishes."""

import uuid
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import count
from typing import Any, Final

import pytest
from fastapi import FastAPI
from sqlalchemy import select, text, update
from starlette.testclient import TestClient

from app.challenges import challenges, same_labels
from app.challenges.challenges import PhaseView
from app.core.errors import ConflictError, DomainError, RateLimitedError, RefusedError
from app.intake import keys
from app.models import (
    AuditRecord,
    Challenge,
    ChallengeDraft,
    ChallengeVisibility,
    Disclosure,
    GroundTruth,
    Intake,
    Phase,
    Quota,
    User,
    stored,
)
from app.organising import drafts
from app.organising.disclosing import NewDisclosure, change_disclosure
from app.organising.drafts import StepError
from app.people.locking import lock_person
from app.platform import Platform
from app.submissions import quotas
from tests.pages.data_sets import jpeg, zipped
from tests.pages.test_accounts import registered
from tests.pages.test_intake_reading import ORGANISE, Place, actor_of
from tests.system.rows import made
from tests.system.servers import eventually
from tests.working import do_all

NUMBERS: Final = count(1)
IMAGES: Final = tuple(f"image_{number:02}" for number in range(20))
Lines = Sequence[str]


@pytest.fixture(scope="module")
def place(app: FastAPI, platform: Platform) -> Iterator[Place]:
    client = TestClient(app, headers={"Accept": "application/json"}, follow_redirects=False)
    registered(client, "organiser@example.org")
    keys.check(platform)
    platform.secret.labels(())  # the key is created before there is any annotation
    yield Place(platform, client)
    client.close()


@pytest.fixture(scope="module")
def stranger(app: FastAPI, place: Place) -> Iterator[Place]:
    """Somebody who organises other challenges."""
    client = TestClient(app, headers={"Accept": "application/json"}, follow_redirects=False)
    registered(client, "stranger@example.org")
    yield Place(place.platform, client)
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


@pytest.mark.sampled
def test_a_renamed_data_set_shares_its_quotas_and_other_labels_do_not(place: Place, lines: Lines) -> None:
    one, _ = applied(place, "hidden", lines)
    other = (*lines[:-1], lines[-1].replace("cat", "dog"))

    copy, _ = applied(place, "hidden", lines, phase="evaluation")
    changed, _ = applied(place, "hidden", other)

    assert view_of(place, one).shares_quotas
    assert view_of(place, copy, "evaluation").shares_quotas
    assert not view_of(place, changed).shares_quotas


def test_results_in_a_phase_with_the_same_labels_count(place: Place) -> None:
    one, same, _ = rows = [made(place.platform) for _ in range(3)]
    with place.platform.transaction() as session:
        for each, labels in zip(rows, ("same", "same", "other"), strict=True):
            of_phase = update(GroundTruth).where(GroundTruth.phase_id == each.phase_id)
            session.execute(of_phase.values(labels=f"{labels} {one.phase_id}"))
            hidden = update(Phase).where(Phase.id == each.phase_id)
            session.execute(hidden.values(disclosure=Disclosure.CLASSES, stored_quotas=stored([Quota(3, 7)])))
    one.result()

    def counted() -> list[int]:
        with place.platform.transaction() as session:
            found = [
                quotas.counted_results(
                    session, each.phase_id, {3: "detection"}, one.team_id, one.user_id, None
                )
                for each in rows
            ]
        return [len(each) for each in found]

    assert counted() == [1, 1, 0]
    in_draft = select(Phase.challenge_id).where(Phase.id == same.phase_id).scalar_subquery()
    with place.platform.transaction() as session:
        session.execute(
            update(Challenge).where(Challenge.id == in_draft).values(visibility=ChallengeVisibility.DRAFT)
        )
    assert counted() == [1, 0, 0]


@pytest.mark.sampled
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


@pytest.mark.sampled
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


@pytest.mark.sampled
def test_a_draft_refuses_nothing_to_others(place: Place, lines: Lines) -> None:
    draft = place.challenge()
    show(place, draft, ChallengeVisibility.DRAFT)
    applied(place, "hidden", lines, draft)

    _, public = applied(place, "public", lines)

    assert public["state"] == "applied"


@pytest.mark.sampled
def test_what_was_public_first_is_blocked_by_nobody_who_hides_it_later(place: Place, lines: Lines) -> None:
    first, _ = applied(place, "public", lines, phase="val")
    applied(place, "hidden", lines)

    _, third = applied(place, "public", lines)
    _, again = applied(place, "public", (*lines, "more.jpg,cat,1,1,5,5"), first, "val")
    _, back = applied(place, "public", lines, first, "val")

    assert [each["state"] for each in (third, again, back)] == ["applied"] * 3


@pytest.mark.sampled
def test_a_phase_that_stays_hidden_elsewhere_is_not_disclosed(place: Place, lines: Lines) -> None:
    code, _ = applied(place, "hidden", lines)
    applied(place, "hidden", lines)
    wanted = {"disclosure": "full", "annotation_is_public": True, "reason": "it is public"}
    phase = view_of(place, code)

    answer = place.organiser.put(f"{ORGANISE}/phases/{phase.id}/disclosure", json=wanted)

    assert answer.status_code == 409
    assert "another phase keeps the same annotation hidden" in answer.text


@pytest.mark.sampled
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


@pytest.mark.sampled
def test_a_draft_does_not_open_with_a_copy_of_what_was_opened_meanwhile(place: Place, lines: Lines) -> None:
    first, second, copy = drafts = [place.challenge() for _ in range(3)]
    for code in drafts:
        show(place, code, ChallengeVisibility.DRAFT)
    applied(place, "public", lines, first)
    applied(place, "hidden", lines, second)
    applied(place, "public", lines, copy)

    def hiding(code: str) -> list[str]:
        phase = view_of(place, code)
        with place.platform.transaction() as session:
            return same_labels.hiding_elsewhere(session, phase.challenge_id)

    before = hiding(copy)
    show(place, second, ChallengeVisibility.LISTED)

    assert (before, hiding(copy), hiding(first)) == ([], [f"{second} test"], [])


@pytest.mark.sampled
def test_refused_copies_are_recorded_for_admins_and_limited(place: Place, app: FastAPI, lines: Lines) -> None:
    client = TestClient(app, headers={"Accept": "application/json"}, follow_redirects=False)
    guesser = Place(place.platform, registered(client, "guesser@example.org"))
    hiding, _ = applied(place, "hidden", lines)
    mine, refused = applied(guesser, "public", lines, phase="val")
    with place.platform.transaction() as session:
        person = session.scalars(select(User.id).where(User.email == "guesser@example.org")).one()
        of_person = AuditRecord.action == "data-set.refuse-copy", AuditRecord.user_id == person
        recorded = session.execute(
            select(AuditRecord.challenge_id, AuditRecord.details).where(*of_person)
        ).all()
        for _ in range(same_labels.MOST_REFUSED - 2):
            same_labels.record_refusal(session, person, ["other test"])
    address = f"{ORGANISE}/data-sets/{refused['id']}/apply"
    asked = {"set": "public-0", "phase": "val", "without_picture": 100}

    queued = guesser.organiser.post(address, json=asked)
    with place.platform.transaction() as session:
        same_labels.record_refusal(session, person, ["other test"])
    do_all(place.platform)
    late = guesser.view(refused["id"])
    again = guesser.organiser.post(address, json=asked)
    _, hidden = applied(guesser, "hidden", lines, mine)

    assert recorded == [(None, {"hiding": f"{hiding} test"})]
    assert (queued.status_code, late["state"]) == (202, "read")
    assert "Too many copies of hidden annotation" in late["message"]
    assert (again.status_code, again.json()["code"]) == (429, "rate-limit")
    assert hidden["state"] == "applied"


@pytest.mark.sampled
@pytest.mark.parametrize("way", ["disclose", "open", "schedule"])
def test_other_refusals_to_publish_what_is_hidden_elsewhere_are_recorded_and_limited_too(
    place: Place, app: FastAPI, lines: Lines, way: str
) -> None:
    client = TestClient(app, headers={"Accept": "application/json"}, follow_redirects=False)
    guesser = Place(place.platform, registered(client, f"{way}@example.org"))
    mine = guesser.challenge()
    if way != "disclose":
        show(guesser, mine, ChallengeVisibility.DRAFT)
        with place.platform.transaction() as session:
            of_draft = select(Challenge.id).where(Challenge.code == mine)
            session.add(ChallengeDraft(challenge_id=session.scalars(of_draft).one()))
    hiding = place.challenge()
    show(place, hiding, ChallengeVisibility.DRAFT)
    applied(place, "hidden", lines, hiding)
    applied(guesser, "hidden" if way == "disclose" else "public", lines, mine)
    show(place, hiding, ChallengeVisibility.LISTED)

    with place.platform.transaction() as session:
        person = session.scalars(select(User.id).where(User.email == f"{way}@example.org")).one()
    actor, later = replace(actor_of(guesser, mine), user_id=person), datetime.now(UTC) + timedelta(days=900)
    disclosure = NewDisclosure(disclosure=Disclosure.FULL, annotation_is_public=True, reason="it is public")
    ask: Callable[[], object] = {
        "disclose": lambda: change_disclosure(place.platform, actor, guesser.phase_id(mine), disclosure),
        "open": lambda: drafts.open_now(place.platform, actor, mine),
        "schedule": lambda: drafts.open_on(place.platform, actor, mine, later),
    }[way]

    for _ in range(same_labels.MOST_REFUSED):
        with pytest.raises((ConflictError, RefusedError, StepError), match=r"hidden"):
            ask()
    with pytest.raises(RateLimitedError, match="copies of hidden annotation"):
        ask()

    with place.platform.transaction() as session:
        of_person = AuditRecord.action == same_labels.REFUSED_ACTION, AuditRecord.user_id == actor.user_id
        recorded = session.scalars(select(AuditRecord.details).where(*of_person)).all()
    assert recorded == [{"hiding": f"{hiding} test"}] * same_labels.MOST_REFUSED


def waiting(platform: Platform) -> int:
    """Return how many connections to this database wait for a lock."""
    here = text(
        "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"
    )
    with platform.reading() as session:
        return session.scalar(here) or 0


@pytest.mark.sampled
def test_two_refusals_at_the_same_moment_count_each_other(place: Place, app: FastAPI, lines: Lines) -> None:
    client = TestClient(app, headers={"Accept": "application/json"}, follow_redirects=False)
    guesser = Place(place.platform, registered(client, "twice@example.org"))
    mine, hiding = guesser.challenge(), place.challenge()
    applied(place, "hidden", lines, hiding)
    applied(guesser, "hidden", lines, mine)
    disclosure = NewDisclosure(disclosure=Disclosure.FULL, annotation_is_public=True, reason="it is public")
    with place.platform.transaction() as session:
        person = session.scalars(select(User.id).where(User.email == "twice@example.org")).one()
        for _ in range(same_labels.MOST_REFUSED - 1):
            same_labels.record_refusal(session, person, ["other test"])
    actor, phase = replace(actor_of(guesser, mine), user_id=person), guesser.phase_id(mine)

    def ask() -> type[Exception] | None:
        try:
            change_disclosure(place.platform, actor, phase, disclosure)
        except DomainError as error:
            return type(error)
        return None

    with ThreadPoolExecutor(2) as pool:
        with place.platform.transaction() as session:
            lock_person(session, person)
            answers = [pool.submit(ask) for _ in range(2)]
            assert eventually(lambda: waiting(place.platform) == 2)
        said = [answer.result(60) for answer in answers]

    assert sorted(each.__name__ for each in said if each) == ["ConflictError", "RateLimitedError"]


def sharing(lines: Lines, number: int) -> Lines:
    """Annotation of the same images, of which so many have the same."""
    return (*lines[:number], *(f"{line}9" for line in lines[number:]))


def copies_recorded(place: Place, code: str) -> list[int]:
    """Of how many hidden images the organisers of a challenge were told that they are public elsewhere."""
    with place.platform.transaction() as session:
        here = select(Challenge.id).where(Challenge.code == code).scalar_subquery()
        statement = select(AuditRecord.details).where(
            AuditRecord.action == "phase.copied", AuditRecord.challenge_id == here
        )
        return [each["images"] for each in session.scalars(statement)]


@pytest.mark.sampled
def test_organisers_are_warned_of_a_tenth_of_the_images_in_another_phase_of_theirs(
    place: Place, lines: Lines
) -> None:
    code, _ = applied(place, "hidden", lines)

    _, few = applied(place, "hidden", sharing(lines, 1))
    _, hidden = applied(place, "hidden", sharing(lines, 2), code, "final")
    _, public = applied(place, "public", (*lines[:2], "other.jpg,cat,1,1,5,5"), phase="val")

    assert [each["state"] for each in (few, hidden, public)] == ["applied"] * 3
    assert code not in few["message"]
    told = f"2 of 20 annotated images have the same annotation in {code} test, which hides it, too"
    assert told in hidden["message"]
    told = f"Of val, 2 of 3 annotated images have the same annotation in {code} test, which hides it: everybody will see it here."
    assert told in public["message"]


@pytest.mark.sampled
def test_somebody_else_is_told_nothing_of_what_a_challenge_hides_but_its_organisers_are(
    place: Place, stranger: Place, lines: Lines
) -> None:
    code, _ = applied(place, "hidden", lines)

    _, hidden = applied(stranger, "hidden", sharing(lines, 10))
    none = copies_recorded(place, code)
    _, public = applied(stranger, "public", sharing(lines[::-1], 9), phase="val")

    assert [(each["state"], each["message"]) for each in (hidden, public)] == [("applied", "")] * 2
    assert (none, copies_recorded(place, code)) == ([], [9])
    audit = place.organiser.get(f"/organise/challenges/{code}/audit", headers={"Accept": "text/html"})
    assert "applied as public what is annotated in 9 images" in audit.text


@pytest.mark.sampled
def test_whoever_hides_what_is_public_is_told_so(place: Place, stranger: Place, lines: Lines) -> None:
    code, _ = applied(place, "public", lines, phase="val")
    secret, _ = applied(place, "public", lines, phase="val")
    show(place, secret, ChallengeVisibility.LINK)

    _, hidden = applied(stranger, "hidden", lines)

    assert hidden["message"] == (
        f"Of test, 20 of 20 annotated images have the same annotation in {code} val, which is public: "
        "participants can know what is hidden here."
    )
    page = stranger.organiser.get(f"/organise/data-sets/{hidden['id']}", headers={"Accept": "text/html"})
    assert f'<div class="notice"><p>{hidden["message"]}' in page.text


@pytest.mark.sampled
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
