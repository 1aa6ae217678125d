"""What counts against a quota."""

import pytest

from tests.system.conftest import SharedSite
from tests.system.installations import good
from tests.system.kits import results, small_kit

pytestmark = pytest.mark.system


def test_two_editions_with_one_ground_truth_share_the_quota_of_a_person(
    site: SharedSite, tmp_path_factory: pytest.TempPathFactory
) -> None:
    trees = {
        "quota-one": small_kit(tmp_path_factory.mktemp("one"), without=3),
        "quota-two": small_kit(tmp_path_factory.mktemp("two"), without=3),
        "quota-other": small_kit(tmp_path_factory.mktemp("other"), without=4),
    }
    for edition, tree in trees.items():
        site.installation.load(tree, edition, quota=1)
    larch = site.participant("larch")

    def confirmed(edition: str) -> int:
        upload = larch.upload(f"{edition}/test", results(cat=5, dog=5))
        return larch.confirm(upload, f"Method {edition}").status_code

    assert [confirmed(edition) for edition in trees] == [201, 429, 201]


def test_the_results_of_one_method_count_once_each(
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


def test_programs_are_told_what_is_left_with_every_confirmation(
    site: SharedSite, tmp_path_factory: pytest.TempPathFactory
) -> None:
    site.installation.load(small_kit(tmp_path_factory.mktemp("told")), "quota-told", quota=1)
    hazel = site.participant("hazel")
    address = "/api/v1/editions/quota-told/test/quota"
    upload = hazel.upload("quota-told/test", results(cat=5, dog=5))
    assert good(hazel.http.get(address))[0]["left"] == 1

    taken = hazel.confirm(upload, "Nut")
    refused = hazel.confirm(upload, "Shell")

    assert taken.headers["RateLimit-Policy"] == '"detection-7d";q=1;w=604800'
    assert taken.headers["RateLimit"].startswith('"detection-7d";r=0;t=604')
    assert (refused.status_code, refused.headers["RateLimit-Policy"]) == (429, '"detection-7d";q=1;w=604800')
    assert 604700 < int(refused.headers["Retry-After"]) <= 604800
    [line] = good(hazel.http.get(address))
    assert (line["task"], line["left"], line["next_slot"] is None) == ("detection", 0, False)
    assert "0 of 1 left in 7 days" in hazel.http.get("/submissions").text
