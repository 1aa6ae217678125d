"""Boards are served from memory, and nobody sees an outdated one or another person's name."""

import re

import httpx2
import pytest

from tests.system.conftest import SharedSite
from tests.system.installations import STATEMENT, Client, good
from tests.system.kits import results, small_kit
from tests.system.servers import eventually

pytestmark = pytest.mark.system

HTML = {"Accept": "text/html"}


@pytest.fixture(scope="module")
def oak(site: SharedSite, tmp_path_factory: pytest.TempPathFactory) -> Client:
    site.installation.load(small_kit(tmp_path_factory.mktemp("cached")), "cached", quota=100)
    oak = site.participant("Oak Tree")
    oak.final(oak.submit("cached/test", results(cat=5, dog=5), "Acorn"))
    return oak


@pytest.mark.parametrize("address", ["/api/v1/leaderboards/cached/test/3", "/leaderboards/cached/test/3"])
def test_a_client_with_the_current_board_gets_not_modified(
    site: SharedSite, oak: Client, address: str
) -> None:
    servers = [site.installation.client(each).http for each in site.addresses]
    # each server may use a cached version for a second
    assert eventually(
        lambda: len({server.get(address, headers=HTML).headers["ETag"] for server in servers}) == 1, 5
    )
    first = site.anybody.http.get(address, headers=HTML)
    etag = first.headers["ETag"]

    again = site.anybody.http.get(address, headers={**HTML, "If-None-Match": f'"old", {etag}'})

    assert (again.status_code, again.content, again.headers["ETag"]) == (304, b"", etag)
    assert first.headers["Cache-Control"] == "no-cache"
    assert site.anybody.http.get(address, headers={**HTML, "If-None-Match": '"old"'}).status_code == 200
    assert oak.board("cached/test")["rows"]


def test_a_board_is_compressed_only_for_clients_that_accept_it(site: SharedSite, oak: Client) -> None:
    address = "/api/v1/leaderboards/cached/test/3"
    plain = site.anybody.http.get(address, headers={"Accept-Encoding": "identity"})
    packed = site.anybody.http.get(address, headers={"Accept-Encoding": "gzip"})

    assert "Content-Encoding" not in plain.headers
    assert packed.headers["Content-Encoding"] == "gzip"
    assert plain.json() == packed.json() == oak.board("cached/test")


@pytest.mark.sampled
def test_a_board_page_names_its_reader_and_no_other_user(site: SharedSite, oak: Client) -> None:
    with httpx2.Client(base_url=site.addresses[0], headers=HTML, timeout=60) as browser:
        person = {"email": "reader@example.org", "name": "Ivy Reader", "password": "a long password"}
        assert browser.post("/register", data=person).status_code == 303
        anonymous = site.anybody.http.get("/leaderboards/cached/test/3", headers=HTML)
        named = browser.get("/leaderboards/cached/test/3")

    assert re.search("Log in", anonymous.text)
    assert re.search("Ivy Reader", named.text)
    assert not re.search("Log in", named.text)
    assert not re.search("Ivy Reader", anonymous.text)
    assert named.headers["Cache-Control"] == "no-store"
    assert named.headers["ETag"] != anonymous.headers["ETag"]
    assert "Acorn" in named.text
    assert oak.means("cached/test")["Acorn"] == 0.5


@pytest.mark.sampled
def test_a_change_shows_immediately_on_one_server_and_soon_on_the_other(
    site: SharedSite, oak: Client
) -> None:
    other = site.installation.client(site.addresses[1])
    private = oak.confirm(oak.upload("cached/test", results(cat=2, dog=2)), "Beech", make_public=False)
    submission = oak.final(int(good(private)["id"]))
    assert "Beech" not in other.means("cached/test")
    assert "Beech" not in site.anybody.means("cached/test")

    assert oak.http.post(f"/api/v1/methods/{submission['method']['id']}/public").status_code == 204

    assert "Beech" in site.anybody.means("cached/test")
    assert eventually(lambda: "Beech" in other.means("cached/test"))
    title = {"name": "Beech", "title": "An attentive tree"}
    upload = oak.upload("cached/test", results(4, cat=2, dog=2))
    good(
        oak.http.post("/api/v1/submissions", json={"upload": upload, "method": title, "training": STATEMENT})
    )
    rows = {row["method"]: row["title"] for row in site.anybody.board("cached/test")["rows"]}
    assert rows["Beech"] == "An attentive tree"


def test_organisers_and_others_do_not_share_a_cached_board(site: SharedSite, oak: Client) -> None:
    organisers, public = site.organiser.board("cached/test"), site.anybody.board("cached/test")

    assert (organisers["decimals"], public["decimals"]) == (None, 3)
    assert oak.board("cached/test") == public
