"""Who may see the annotation of an image set: what was sent as hidden stays so, and a test set that was sent as public is asked about."""

import uuid

import pytest
from sqlalchemy import select

from app.intake import intakes
from app.models import Challenge, Intake, Phase
from tests.pages.data_sets import coco, coco_file, kit, zipped
from tests.pages.test_drafts import NEW, PAGE, RULES, SCORING, Place, place, words
from tests.working import do_all

__all__ = ["place"]  # a fixture
PUBLIC = zipped({**kit("val"), **kit("test", folder="b/VOC2012/")})


def test_a_test_set_that_was_sent_as_public_is_hidden_until_somebody_answers(place: Place) -> None:
    code = place.draft()
    place.send(code, public=PUBLIC)
    page = place.page(f"{NEW}/{code}/check")
    chosen = {"sets": ["public-0", "public-1"]}
    unanswered = place.organiser.post(f"{NEW}/{code}/check", data={**chosen, "without_picture": "6"})

    again = place.save(code, "check", **chosen, seen=["public-0=public", "public-1=hidden"])
    do_all(place.platform)
    for step, form in (("scoring", SCORING), ("rules", RULES), ("page", PAGE)):
        place.save(code, step, **form)
    do_all(place.platform)

    assert "test hidden annotation" in page
    assert "until then it is treated as hidden" in page
    assert unanswered.status_code == 422
    assert "say who may see the annotation of test, which was sent as public" in words(unanswered.text)
    assert again.headers["location"] == f"{NEW}/{code}/check"
    assert disclosures(place, code) == {"val": "full", "test": "classes"}


def test_answers_change_the_role_and_never_make_hidden_annotation_public(place: Place) -> None:
    code = place.draft()
    place.send(code, public=zipped(kit("val")), hidden=zipped(kit("test")))
    listed = place.organiser.get(f"/api/v1/organise/challenges/{code}/data-sets").json()["intakes"]
    address = f"/api/v1/organise/data-sets/{listed[0]['id']}"
    hide: list[dict[str, object]] = [{"set": "val", "is_hidden": True}]

    roles = []
    answers: list[dict[str, object]]
    for answers in ([], hide, [{"set": "val", "is_hidden": False}]):
        answered = place.organiser.put(f"{address}/audiences", json={"audiences": answers})
        assert answered.status_code == 202
        do_all(place.platform)
        sets = place.organiser.get(address).json()["report"]["sets"]
        roles.append({each["name"]: each["role"] for each in sets})
    asked = place.organiser.post(f"/api/v1/organise/challenges/{code}/data-sets").json()["id"]
    with place.platform.transaction() as session:
        carried_over = intakes.audiences_of(session.get_one(Intake, uuid.UUID(asked)))
    opened = place.organiser.put(
        f"{address}/audiences", json={"audiences": [{"set": "test", "is_hidden": False}]}
    )

    assert roles == [{"val": role, "test": "hidden"} for role in ("public", "hidden", "public")]
    assert carried_over == ()
    assert opened.status_code == 422
    assert "hidden annotation stays hidden" in opened.text


@pytest.mark.sampled
def test_a_phase_of_a_draft_that_was_sent_as_public_is_hidden_by_an_answer_alone(place: Place) -> None:
    code = place.draft(template="coco")
    images = [{**each, "file_name": f"{each['id']}-cats/{each['file_name']}"} for each in coco()["images"]]
    place.send(code, public=zipped({"val.json": coco_file(images=images)}))
    chosen = {"sets": ["public-0"]}
    for step, form in (
        ("check", chosen), ("scoring", {**SCORING, "protocol": "coco"}), ("rules", RULES), ("page", PAGE)
    ):  # fmt: skip
        place.save(code, step, **form)
    do_all(place.platform)
    with place.platform.transaction() as session:
        phase = session.scalars(select(Phase.id).join(Challenge).where(Challenge.code == code)).one()
    hidden = {"disclosure": "classes", "reason": "They were not meant to be public."}

    refused = place.organiser.put(f"/api/v1/organise/phases/{phase}/disclosure", json=hidden)
    as_public = place.organiser.get(f"/challenges/{code}/val/images.csv").text
    place.save(code, "check", **chosen, seen=["public-0=hidden"])
    do_all(place.platform)
    place.save(code, "check", **chosen, seen=["public-0=hidden"])
    place.save(code, "phases")
    do_all(place.platform)
    as_hidden = place.organiser.get(f"/challenges/{code}/val/images.csv").text

    assert refused.status_code == 409
    assert "say in the step Check that nobody may see it" in refused.json()["detail"]
    assert "1-cats/one.jpg" in as_public
    assert disclosures(place, code) == {"val": "classes"}
    assert "one.jpg" in as_hidden
    assert "cats" not in as_hidden


def test_an_answer_changes_nothing_while_a_worker_makes_the_phases(place: Place) -> None:
    code = place.draft()
    place.send(code, public=PUBLIC)
    hidden = {"sets": ["public-0", "public-1"], "seen": ["public-0=public", "public-1=hidden"]}
    place.save(code, "check", **hidden)
    do_all(place.platform)
    for step, form in (("scoring", SCORING), ("rules", RULES), ("page", PAGE)):
        place.save(code, step, **form)

    late = place.organiser.post(
        f"{NEW}/{code}/check",
        data={**hidden, "seen": ["public-0=public", "public-1=public"], "without_picture": "6"},
    )
    do_all(place.platform)

    assert late.status_code == 409
    assert disclosures(place, code) == {"val": "full", "test": "classes"}


def disclosures(place: Place, code: str) -> dict[str, str]:
    """What each phase of a challenge shows."""
    with place.platform.transaction() as session:
        statement = select(Phase.image_set, Phase.disclosure).join(Challenge).where(Challenge.code == code)
        return {name: disclosure.value for name, disclosure in session.execute(statement)}
