"""Checks of hosts, lengths and caching that apply to every request, and of the data folder's mode."""

import pytest

from app.core.settings import Settings
from app.operations.data_folder import InstallationError, lock_data_folder
from app.platform import Platform
from tests.pages.conftest import Browser
from tests.pages.test_accounts import registered


@pytest.mark.parametrize("host", ["127.0.0.1:8000", "[::1]:8000", "localhost", "testserver", "TestServer:80"])
def test_the_server_accepts_its_own_names_and_addresses(browser: Browser, host: str) -> None:
    assert browser().get("/health", headers={"Host": host}).status_code == 200


@pytest.mark.parametrize(
    "host", ["rebound.example", "testserver.rebound.example", "127.0.0.1.rebound.example", "["]
)
def test_another_host_name_is_refused(browser: Browser, host: str) -> None:
    response = browser().get("/", headers={"Host": host})

    assert response.status_code == 400
    assert "does not name this server" in response.text


def test_the_public_address_is_an_accepted_host_name() -> None:
    settings = Settings(public_url="https://VOC.example.org/", trusted_hosts="voc.internal, other")

    assert {"voc.example.org", "voc.internal", "other", "localhost"} <= settings.host_names


def test_a_request_with_two_lengths_is_refused_and_its_connection_closed(browser: Browser) -> None:
    response = browser().post(
        "/login", content=b"0\r\n\r\n", headers={"Content-Length": "5", "Transfer-Encoding": "chunked"}
    )

    assert response.status_code == 400
    assert "Content-Length together with Transfer-Encoding" in response.text
    assert response.headers["connection"] == "close"


def test_personal_pages_are_never_cached(browser: Browser, platform: Platform) -> None:
    person = registered(browser(), "alder@example.org")

    for page in ("/", "/account", "/submissions", "/uploads", "/api/v1/submissions", "/problems"):
        assert person.get(page).headers["cache-control"] == "no-store", page
    assert browser().get("/").headers["cache-control"] == "no-cache"
    assert "cache-control" not in browser().get("/docs").headers
    assert person.get("/static/style.css").headers.get("cache-control") != "no-store"


def test_a_data_folder_open_to_other_users_is_refused(tmp_path: pytest.TempPathFactory) -> None:
    folder = Settings(data=str(tmp_path)).data / "open"
    folder.mkdir()
    folder.chmod(0o755)

    with (
        pytest.raises(InstallationError, match=r"open to other users of this machine \(mode 755\)"),
        lock_data_folder(folder),
    ):
        pass

    folder.chmod(0o750)
    with lock_data_folder(folder):
        pass
