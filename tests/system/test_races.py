from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from pathlib import Path
from threading import Barrier

import httpx2
import pytest
from sqlalchemy import func

from app.core.secret_hashes import hash_of_token
from app.jobs.mail import add_link
from app.models import MailLink
from app.people.accounts import create_person
from app.people.passwords import hash_password
from tests.system.conftest import SharedSite
from tests.system.installations import Client, good
from tests.system.kits import results, small_kit

pytestmark = [pytest.mark.slow, pytest.mark.system]

TIMES = 30


@pytest.fixture(scope="module")
def phase(site: SharedSite, tmp_path_factory: pytest.TempPathFactory) -> str:
    site.installation.load(small_kit(tmp_path_factory.mktemp("races")), "races")
    return "races/test"


def at_once(clients: list[Client], ask: Callable[[Client], httpx2.Response]) -> list[httpx2.Response]:
    """The responses to simultaneous requests of all clients."""
    start = Barrier(len(clients))

    def wait_and_ask(client: Client) -> httpx2.Response:
        start.wait()
        return ask(client)

    with ThreadPoolExecutor(len(clients)) as crowd:
        return list(crowd.map(wait_and_ask, clients))


def crowd_of(site: SharedSite, someone: Client) -> list[Client]:
    """Many clients of the same person, alternating between both web servers."""
    token = someone.http.headers["Authorization"].removeprefix("Bearer ")
    running, addresses = site.installation, site.addresses
    return [running.client(addresses[number % 2], token) for number in range(TIMES)]


def test_one_of_30_confirmations_of_a_method_at_two_web_servers_succeeds(
    site: SharedSite, phase: str
) -> None:
    oak = site.participant("oak")
    upload = oak.upload(phase, results(cat=5, dog=5))

    responses = at_once(crowd_of(site, oak), lambda client: client.confirm(upload, "Acorn"))

    assert Counter(response.status_code for response in responses) == {201: 1, 409: TIMES - 1}
    for response in responses:
        if response.status_code == 409:
            assert response.json()["detail"] == (
                "'Acorn' already has a result in competition 3, and a method can have only one; "
                "use another name for another method"
            )
    [taken] = [response.json()["id"] for response in responses if response.status_code == 201]
    assert [result["shown"]["state"] for result in oak.final(taken)["results"]] == ["scored"]
    assert [row["submission"] for row in good(oak.http.get("/api/v1/submissions"))] == [taken]


def test_30_confirmations_with_one_key_create_one_submission(site: SharedSite, phase: str) -> None:
    elm = site.participant("elm")
    upload = elm.upload(phase, results(cat=5, dog=5))

    responses = at_once(crowd_of(site, elm), lambda client: client.confirm(upload, "Leaf", "the same"))

    assert Counter(response.status_code for response in responses) == {201: 1, 200: TIMES - 1}
    [number] = {response.json()["id"] for response in responses}
    assert {response.headers["Location"] for response in responses} == {f"/api/v1/submissions/{number}"}
    assert len(good(elm.http.get("/api/v1/submissions"))) == 1


def test_two_of_30_simultaneous_methods_fit_a_quota_of_two_results(site: SharedSite, tmp_path: Path) -> None:
    site.installation.load(small_kit(tmp_path), "scarce", quota=2)
    oak = site.participant("oak")
    upload = oak.upload("scarce/test", results(cat=5, dog=5))
    names = iter([f"Method {number}" for number in range(TIMES)])

    responses = at_once(crowd_of(site, oak), lambda client: client.confirm(upload, next(names)))

    assert Counter(response.status_code for response in responses) == {201: 2, 429: TIMES - 2}
    assert len(good(oak.http.get("/api/v1/submissions"))) == 2


def test_an_idempotency_key_used_for_another_request_is_refused(site: SharedSite, phase: str) -> None:
    ash = site.participant("ash")
    upload = ash.upload(phase, results(cat=5, dog=5))
    first = good(ash.confirm(upload, "Key", "once"))["id"]

    again = ash.confirm(upload, "Other", "once")

    assert again.status_code == 409
    assert (
        again.json()["detail"]
        == f"the idempotency key 'once' was used for submission {first}; use another key"
    )


def test_two_people_may_use_the_same_idempotency_key(site: SharedSite, phase: str) -> None:
    numbers = []
    for name in ("fir", "yew"):
        someone = site.participant(name)
        upload = someone.upload(phase, results(cat=5, dog=5))
        numbers.append(good(someone.confirm(upload, f"Twig of {name}", "key"))["id"])

    assert len(set(numbers)) == 2


def test_only_one_of_two_teams_gets_the_name_both_choose_at_once(site: SharedSite, phase: str) -> None:
    names = {"fig": "Bough 101", "ash": "bough-lO1"}
    clients = {site.participant(person): name for person, name in names.items()}
    uploads = {client: client.upload(phase, results(cat=5, dog=5)) for client in clients}

    answers = at_once(list(clients), lambda client: client.confirm(uploads[client], clients[client]))

    assert sorted(answer.status_code for answer in answers) == [201, 409]
    [refused] = [answer.json()["code"] for answer in answers if answer.status_code == 409]
    assert refused == "name-taken"


def test_an_address_confirmed_by_20_accounts_at_once_belongs_to_one(site: SharedSite) -> None:
    times = 20
    start = Barrier(times)
    with site.installation.platform.transaction() as session:
        known = hash_password("a long password")
        people = [create_person(session, "rush@example.org", "Rush", known) for _ in range(times)]
        for number, person in enumerate(people):
            add_link(
                session,
                MailLink(
                    token_hash=hash_of_token(f"rush{number}"),
                    user_id=person.id,
                    purpose="confirm-address",
                    address=person.email,
                    expires_at=func.now() + timedelta(days=1),
                ),
            )

    def confirm(number: int) -> int:
        page = f"{site.addresses[number % 2]}/confirm-address/rush{number}"
        start.wait()
        return httpx2.post(page, data={"password": "a long password"}, timeout=60).status_code

    with ThreadPoolExecutor(times) as crowd:
        responses = Counter(crowd.map(confirm, range(times)))

    counted = "SELECT count(*) FROM user_account WHERE email = 'rush@example.org' AND verified_at IS NOT NULL"
    assert responses[303] == 1
    assert responses[303] + responses[409] + responses[503] == times  # 503: too many hashes at once
    assert site.installation.ask(counted) == [(1,)]


def test_a_tree_imported_twice_at_once_is_stored_once(site: SharedSite, tmp_path: Path) -> None:
    tree = small_kit(tmp_path)
    with ThreadPoolExecutor(4) as crowd:
        imported = list(crowd.map(lambda _: site.installation.load(tree, "simultaneous"), range(4)))

    assert sorted(one.is_new for one in imported) == [False, False, False, True]
    assert {one.version for one in imported} == {1}
