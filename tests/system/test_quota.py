"""What counts towards a quota."""

import re

import pytest

from tests.system.conftest import SharedSite
from tests.system.installations import good
from tests.system.kits import results, small_kit
from tests.system.servers import eventually

pytestmark = pytest.mark.system


def test_challenges_with_the_same_ground_truth_share_a_persons_quota(
    site: SharedSite, tmp_path_factory: pytest.TempPathFactory
) -> None:
    tree = small_kit(tmp_path_factory.mktemp("one"))
    trees = {"quota-one": tree, "quota-two": tree, "quota-other": small_kit(tmp_path_factory.mktemp("other"))}
    for challenge, tree in trees.items():
        site.installation.load(tree, challenge, quota=1)
    larch = site.participant("larch")

    def confirmed(challenge: str) -> int:
        upload = larch.upload(f"{challenge}/test", results(cat=5, dog=5))
        return larch.confirm(upload, f"Method {challenge}").status_code

    assert [confirmed(challenge) for challenge in trees] == [201, 429, 201]


def test_phases_with_the_same_hidden_annotation_share_the_stricter_quota(
    site: SharedSite, tmp_path_factory: pytest.TempPathFactory
) -> None:
    tree = small_kit(tmp_path_factory.mktemp("shared"))
    site.installation.load(tree, "quota-strict", quota=2)
    site.installation.load(tree, "quota-lax", quota=500)
    beech = site.participant("copper beech")

    def confirmed(challenge: str, name: str) -> int:
        upload = beech.upload(f"{challenge}/test", results(cat=5, dog=5))
        return beech.confirm(upload, name).status_code

    taken = [
        confirmed(*each) for each in (("quota-lax", "One"), ("quota-strict", "Two"), ("quota-lax", "Three"))
    ]

    assert taken == [201, 201, 429]
    [phase] = good(site.anybody.http.get("/api/v1/challenges/quota-lax"))["phases"]
    assert phase["phase"]["quotas"] == [{"results": 2, "days": 7}]
    assert phase["phase"]["own_quotas"] == [{"results": 500, "days": 7}]
    rules = site.anybody.http.get("/challenges/quota-lax/rules", headers={"Accept": "text/html"}).text
    assert "Results in other phases with the same annotation count, too." in " ".join(rules.split())


def test_each_result_of_a_method_counts_once(
    site: SharedSite, tmp_path_factory: pytest.TempPathFactory
) -> None:
    site.installation.load(small_kit(tmp_path_factory.mktemp("each")), "quota-each", quota=3)
    rowan = site.participant("rowan")
    upload = rowan.upload("quota-each/test", results(3, 4, cat=5, dog=5))

    for competition in (3, 4):
        good(rowan.confirm(upload, "Same", competitions=(competition,)))

    refused = rowan.confirm(upload, "Other", competitions=(3, 4))
    assert refused.status_code == 429
    assert "2 of 3 detection results in 7 days are used" in refused.json()["detail"]
    assert rowan.confirm(upload, "Other", competitions=(3,)).status_code == 201


def test_the_api_returns_the_remaining_quota_with_every_confirmation(
    site: SharedSite, tmp_path_factory: pytest.TempPathFactory
) -> None:
    site.installation.load(small_kit(tmp_path_factory.mktemp("told")), "quota-told", quota=1)
    hazel = site.participant("hazel")
    address = "/api/v1/challenges/quota-told/test/quota"
    upload = hazel.upload("quota-told/test", results(cat=5, dog=5))
    assert good(hazel.http.get(address))[0]["left"] == 1

    taken = hazel.confirm(upload, "Nut")
    refused = hazel.confirm(upload, "Shell")

    assert taken.headers["RateLimit-Policy"] == '"detection-7d";q=1;w=604800'
    assert taken.headers["RateLimit"].startswith('"detection-7d";r=0;t=604')
    assert (refused.status_code, refused.headers["RateLimit-Policy"]) == (429, '"detection-7d";q=1;w=604800')
    assert 604700 < int(refused.headers["Retry-After"]) <= 604800
    line = {each["task"]: each for each in good(hazel.http.get(address))}["detection"]
    assert (line["task"], line["left"], line["next_slot"] is None) == ("detection", 0, False)
    assert "0 left of 1 per 7 days" in hazel.http.get("/submissions").text


def test_an_organiser_grants_an_extra_slot_and_revokes_an_unused_one(
    site: SharedSite, tmp_path_factory: pytest.TempPathFactory
) -> None:
    phase_id = site.installation.load(
        small_kit(tmp_path_factory.mktemp("more")), "quota-more", quota=1
    ).phase_id
    maple, organiser = site.participant("maple"), site.organiser
    upload = maple.upload("quota-more/test", results(cat=5, dog=5))
    [[team]] = site.installation.ask(
        "SELECT t.name FROM team t JOIN upload u ON u.team_id = t.id WHERE u.id = %s", upload
    )
    page = f"/organise/phases/{phase_id}"
    form = {"team": team, "task": "detection", "number": "2", "slot_reason": "a power cut"}
    assert maple.http.get(page).status_code == 403
    assert organiser.http.post(f"{page}/slots", data={**form, "team": "nobody"}).status_code == 422
    assert organiser.http.post(f"{page}/slots", data=form).status_code == 303

    slots = good(organiser.http.get(f"/api/v1{page}/rules"))["slots"]
    back = [organiser.http.post(f"/organise/slots/{slots[0]['id']}/take-back").status_code for _ in range(2)]
    confirmed = [maple.confirm(upload, name).status_code for name in ("First", "Second", "Third")]

    assert back == [303, 409]
    assert confirmed == [201, 201, 429]
    assert organiser.http.delete(f"/api/v1/organise/slots/{slots[1]['id']}").status_code == 409
    assert [
        slot["submission"] is None for slot in good(organiser.http.get(f"/api/v1{page}/rules"))["slots"]
    ] == [
        True,
        False,
    ]
    assert site.installation.ask(
        "SELECT action, reason FROM audit JOIN challenge e ON challenge_id = e.id"
        " WHERE e.code = 'quota-more' AND action LIKE 'quota.%%' ORDER BY audit.id"
    ) == [
        ("quota.grant", "a power cut"),
        ("quota.take_back", ""),
    ]
    assert "a power cut" in organiser.http.get(page).text
    older = good(organiser.http.get(f"/api/v1{page}/rules?before={slots[0]['id']}"))
    assert [slot["id"] for slot in older["slots"]] == [slots[1]["id"]]


def test_an_organiser_changes_dates_and_quotas_with_a_reason(
    site: SharedSite, tmp_path_factory: pytest.TempPathFactory
) -> None:
    phase_id = site.installation.load(small_kit(tmp_path_factory.mktemp("dates")), "quota-dates").phase_id
    page = f"/organise/phases/{phase_id}"
    rules = good(site.organiser.http.get(f"/api/v1{page}/rules"))["phase"]
    form = {
        "opens_at": rules["opens_at"][:16],
        "closes_at": "2099-01-31T10:00",
        "grace_minutes": "30",
        "quotas": "2/7, 30/365",
        "reason": "as announced",
    }

    def changed(**fields: str) -> int:
        return site.organiser.http.post(f"{page}/rules", data=form | fields).status_code

    assert changed(quotas="2 a week") == 422
    assert changed(reason="") == 422
    assert changed(quotas="") == 409
    assert changed() == 303
    now = good(site.organiser.http.get(f"/api/v1{page}/rules"))["phase"]
    assert now["quotas"] == [{"results": 2, "days": 7}, {"results": 30, "days": 365}]
    assert (now["opens_at"], now["closes_at"]) == (rules["opens_at"], "2099-01-31T10:00:00Z")
    [(reason, before)] = site.installation.ask(
        "SELECT reason, before FROM audit WHERE action = 'phase.change' AND subject = %s", f"phase {phase_id}"
    )
    assert (reason, before["grace"], "opens_at" in before) == ("as announced", "60 minutes", False)
    body = {
        "opens_at": now["opens_at"],
        "closes_at": None,
        "grace_minutes": 30,
        "quotas": [],
        "embargo": False,
        "reason": "unlimited",
    }
    refused = site.organiser.http.put(f"/api/v1{page}/rules", json=body)
    assert (refused.status_code, refused.json()["code"]) == (422, "phase-broken")


def test_changed_archive_limits_do_not_affect_checked_uploads(
    site: SharedSite, tmp_path_factory: pytest.TempPathFactory
) -> None:
    phase_id = site.installation.load(small_kit(tmp_path_factory.mktemp("limits")), "quota-limits").phase_id
    aspen, page = site.participant("aspen"), f"/organise/phases/{phase_id}"
    rules = good(site.organiser.http.get(f"/api/v1{page}/rules"))["phase"]
    form = {
        "opens_at": rules["opens_at"][:16],
        "grace_minutes": "60",
        "quotas": "1000/7",
        "reason": "long queues",
    }

    def limited(**limits: str) -> int:
        return site.organiser.http.post(f"{page}/rules", data=form | limits).status_code

    checked = aspen.upload("quota-limits/test", results(cat=5, dog=5))
    assert (limited(max_boxes="0"), limited(max_total_lines="many")) == (422, 422)
    assert limited(max_boxes="40", max_total_lines="9") == 303

    report = aspen.send("quota-limits/test", results(cat=5, dog=5)).json()["report"]
    assert [problem["code"] for problem in report["problems"]] == ["too-many-lines"]
    assert aspen.final(good(aspen.confirm(checked, "Quake"))["id"])["results"][0]["state"] == "scored"
    limits = good(site.organiser.http.get(f"/api/v1{page}/rules"))["limits"]
    assert (limits["max_boxes"], limits["max_total_lines"], limits["max_lines"]) == (40, 9, 3_000_000)
    assert "<dt>Lines in all</dt> <dd>9</dd>" in re.sub(
        r"\s+", " ", site.anybody.http.get("/challenges/quota-limits/test/competitions/3").text
    )
    assert site.installation.ask(
        "SELECT before, after FROM audit WHERE action = 'phase.change' AND subject = %s", f"phase {phase_id}"
    ) == [
        (
            {"limit max_boxes": "1000", "limit max_total_lines": "10000000"},
            {"limit max_boxes": "40", "limit max_total_lines": "9"},
        )
    ]


def test_an_embargoed_public_result_is_visible_only_to_its_team(
    site: SharedSite, tmp_path_factory: pytest.TempPathFactory
) -> None:
    phase_id = site.installation.load(small_kit(tmp_path_factory.mktemp("embargo")), "quota-embargo").phase_id
    site.installation.ask(
        "UPDATE phase SET embargo = true, closes_at = now() + interval '1 day' WHERE id = %s", phase_id
    )
    alder = site.participant("alder")
    upload = alder.upload("quota-embargo/test", results(cat=5, dog=5))
    submission = good(alder.confirm(upload, "Cone"))["id"]
    alder.final(submission)
    address, board = f"/api/v1/submissions/{submission}", "/api/v1/leaderboards/quota-embargo/test/3"

    def seen() -> tuple[int, int]:
        return site.anybody.http.get(address).status_code, len(good(site.anybody.http.get(board))["rows"])

    assert seen() == (404, 0)
    assert alder.http.get(address).status_code == 200
    assert len(good(site.organiser.http.get(board))["rows"]) == 1
    site.installation.ask(
        "UPDATE phase SET opens_at = now() - interval '9 days', closes_at = now() - interval '2 hours' WHERE id = %s",
        phase_id,
    )
    assert eventually(lambda: seen() == (200, 1))
