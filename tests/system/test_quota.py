"""What counts against a quota."""

import pytest

from tests.system.conftest import SharedSite
from tests.system.installations import good
from tests.system.kits import results, small_kit

pytestmark = pytest.mark.system


def test_a_method_that_is_entered_in_another_edition_too_uses_one_result_of_each_quota(
    site: SharedSite, tmp_path_factory: pytest.TempPathFactory
) -> None:
    for edition in ("quota-one", "quota-two"):
        site.installation.load(small_kit(tmp_path_factory.mktemp(edition)), edition, quota=2)
    larch = site.participant("larch")

    def confirmed(edition: str, method: str) -> int:
        upload = larch.upload(f"{edition}/test", results(cat=5, dog=5))
        return larch.confirm(upload, method).status_code

    assert [confirmed(edition, "Same") for edition in ("quota-one", "quota-two")] == [201, 201]
    assert [confirmed("quota-one", method) for method in ("Second", "Third")] == [201, 429]


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
