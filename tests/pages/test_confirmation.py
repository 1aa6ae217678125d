"""Addresses are confirmed by a link that works once, and nobody learns who has an account."""

import re
import time
from collections.abc import Iterator
from dataclasses import replace

import httpx2
import pytest
from sqlalchemy import text
from starlette.testclient import TestClient

from app.intake.importing import TreeImport, import_tree
from app.models import Disclosure
from app.platform import Platform
from tests.pages.conftest import Browser
from tests.pages.test_accounts import PASSWORD, registered
from tests.people import deliver_mail, letters, link_in
from tests.system.kits import results, small_kit


@pytest.fixture(autouse=True)
def _without_earlier_mail(platform: Platform) -> Iterator[None]:
    yield
    with platform.transaction() as session:
        for table in ("job", "mail_request"):
            session.execute(text(f"DELETE FROM {table}"))


def unconfirmed(client: TestClient, email: str) -> TestClient:
    form = {"email": email, "name": "Ash Grove", "password": PASSWORD}
    assert client.post("/register", data=form).status_code == 303
    return client


def mailed_link(platform: Platform, email: str) -> str:
    deliver_mail(platform)
    return link_in(letters(platform, email)[-1])


def can_log_in(client: TestClient, email: str, password: str = PASSWORD) -> bool:
    return client.post("/login", data={"email": email, "password": password}).status_code == 303


def test_the_link_in_the_mail_confirms_the_address_once(browser: Browser, platform: Platform) -> None:
    ash = unconfirmed(browser(), "ash@example.org")
    assert "not confirmed yet" in ash.get("/").text
    assert not can_log_in(browser(), "ash@example.org")
    link = mailed_link(platform, "ash@example.org")

    assert "ash@example.org" in ash.get(link).text
    assert "not confirmed yet" in ash.get("/").text  # opening the link, as mail scanners do, confirms nothing
    confirmed = ash.post(link).headers["location"]
    assert confirmed == "/account"
    assert "Your e-mail address is confirmed." in ash.get(confirmed).text
    assert "Your e-mail address is confirmed." not in ash.get(confirmed).text

    assert "not confirmed" not in ash.get("/account").text
    assert can_log_in(browser(), "ash@example.org")
    assert ash.post(link).status_code == 410


def test_a_confirmed_address_leads_back_to_where_it_was_asked_for(
    browser: Browser, platform: Platform
) -> None:
    rowan = unconfirmed(browser(), "rowan.back@example.org")
    there = "/challenges/oak/test/submit"
    asked = rowan.get("/account/address", params={"next": there})
    assert "not confirmed yet" not in asked.text  # the page itself says it
    rowan.get("/account/address", params={"next": "//elsewhere.example.org"})  # is not remembered

    confirmed = rowan.post(mailed_link(platform, "rowan.back@example.org")).headers["location"]

    assert confirmed == there
    assert (
        "Your e-mail address is confirmed." in rowan.get("/").text
    )  # the next page says it, if that one cannot
    assert "heldout_return" not in rowan.cookies


def test_on_another_device_the_link_asks_for_the_password_and_logs_in(
    browser: Browser, platform: Platform
) -> None:
    unconfirmed(browser(), "beech@example.org")
    link = mailed_link(platform, "beech@example.org")
    phone = browser()

    wrong = phone.post(link, data={"password": "a stranger's guess"})
    right = phone.post(link, data={"password": PASSWORD})

    assert wrong.status_code == 401
    assert "is not the password of this account" in wrong.text
    assert right.status_code == 303
    assert phone.get("/account").status_code == 200


def test_nobody_confirms_an_account_that_a_stranger_made_with_their_address(
    browser: Browser, platform: Platform
) -> None:
    mallory = unconfirmed(browser(), "cedar@example.org")
    link = mailed_link(platform, "cedar@example.org")
    cedar = registered(browser(), "other@example.org")

    assert 'name="password"' in cedar.get(link).text
    assert cedar.post(link).status_code == 401
    assert "not confirmed yet" in mallory.get("/").text


def test_registering_a_taken_address_looks_like_registering_a_free_one(
    browser: Browser, platform: Platform
) -> None:
    registered(browser(), "dogwood@example.org")
    free, taken = browser(), browser()
    pages = [
        (
            unconfirmed(client, email).get("/account").text.replace(email, "…"),
            client.get("/account/address").text.replace(email, "…"),
            client.post("/account/address/resend").status_code,
            can_log_in(browser(), email, "some other password"),
        )
        for client, email in ((free, "new@example.org"), (taken, "Dogwood@example.org".lower()))
    ]
    deliver_mail(platform)

    assert pages[0] == pages[1]
    assert [letter["Subject"] for letter in letters(platform, "dogwood@example.org")][-2:] == [
        "You already have an account"
    ] * 2
    assert "/confirm-address/" not in str(letters(platform, "dogwood@example.org")[-1])
    assert can_log_in(browser(), "dogwood@example.org")


@pytest.mark.usefixtures("usual_hashes")
def test_registering_takes_equally_long_for_a_taken_address(browser: Browser) -> None:
    registered(browser(), "elm@example.org")

    def seconds(email: str) -> float:
        start = time.process_time()  # which other load on the machine does not change
        unconfirmed(browser(), email)
        return time.process_time() - start

    times = [(seconds("elm@example.org"), seconds(f"free{number}@example.org")) for number in range(8)]

    taken, free = (min(column) for column in zip(*times, strict=True))
    assert 0.6 < taken / free < 1.6


def test_the_mail_can_be_sent_again_a_few_times(browser: Browser, platform: Platform) -> None:
    fir = unconfirmed(browser(), "fir@example.org")

    codes = [fir.post("/account/address/resend").status_code for _ in range(4)]
    late = fir.post("/account/address/resend")

    assert codes == [303, 303, 429, 429]
    assert re.search("The next one can be sent at", late.text)
    deliver_mail(platform)
    links = [link_in(letter) for letter in letters(platform, "fir@example.org")]
    assert len(set(links)) == 3
    assert fir.post(links[0]).status_code == 303  # every one of them works
    assert fir.post(links[1]).status_code == 410


def test_an_expired_link_confirms_nothing(browser: Browser, platform: Platform) -> None:
    gorse = unconfirmed(browser(), "gorse@example.org")
    link = mailed_link(platform, "gorse@example.org")
    with platform.transaction() as session:
        session.execute(text("UPDATE mail_link SET expires_at = now() - interval '1 second'"))

    assert "has been used or has expired" in gorse.get(link).text
    assert gorse.post(link).status_code == 410
    assert browser().get("/confirm-address/nothing").status_code == 200


def test_a_new_address_is_confirmed_and_the_old_one_is_notified(browser: Browser, platform: Platform) -> None:
    hazel = registered(browser(), "hazel@example.org")
    form = {"email": "Hazel@New.example.org", "password": PASSWORD}

    assert hazel.post("/account/address", data=form | {"password": "wrong"}).status_code == 403
    assert hazel.post("/account/address", data=form | {"email": "a@b.c\nBcc: d@e.f"}).status_code == 422
    assert hazel.post("/account/address", data=form).status_code == 303
    assert "replaces it once" in hazel.get("/account/address").text
    assert can_log_in(browser(), "hazel@example.org")
    assert hazel.post(mailed_link(platform, "hazel@new.example.org")).status_code == 303

    deliver_mail(platform)
    assert [letter["Subject"] for letter in letters(platform, "hazel@example.org")][-1:] == [
        "Your e-mail address was changed"
    ]
    assert "hazel@new.example.org" in hazel.get("/account").text
    assert not can_log_in(browser(), "hazel@example.org")
    assert can_log_in(browser(), "hazel@new.example.org")


def test_changing_to_a_taken_address_gets_the_usual_response_and_a_hint_by_mail(
    browser: Browser, platform: Platform
) -> None:
    registered(browser(), "ivy@example.org")
    juniper = registered(browser(), "juniper@example.org")

    taken = juniper.post("/account/address", data={"email": "ivy@example.org", "password": PASSWORD})
    deliver_mail(platform)

    assert taken.status_code == 303
    assert letters(platform, "ivy@example.org")[-1]["Subject"] == "You already have an account"


def test_an_address_confirmed_by_another_account_in_the_meantime_is_refused(
    browser: Browser, platform: Platform
) -> None:
    first, second = (unconfirmed(browser(), "kapok@example.org") for _ in range(2))
    deliver_mail(platform)
    links = [link_in(letter) for letter in letters(platform, "kapok@example.org")]

    assert first.post(links[0]).status_code == 303
    refused = second.post(links[1])

    assert refused.status_code == 409
    assert "Another account has confirmed this address" in refused.text


@pytest.fixture(scope="module")
def _phases(platform: Platform, tmp_path_factory: pytest.TempPathFactory) -> None:
    kits = [small_kit(tmp_path_factory.mktemp("confirmation")) for _ in range(2)]
    import_tree(platform, TreeImport(kits[0], "hidden", "test"))
    import_tree(platform, TreeImport(kits[1], "open", "test", disclosure=Disclosure.FULL))


def send(client: TestClient, challenge: str) -> httpx2.Response:
    path = f"/api/v1/challenges/{challenge}/test/uploads?filename=results.tar.gz"
    response = client.put(path, content=results(cat=5, dog=5), headers={"Accept": "application/json"})
    assert isinstance(response, httpx2.Response)
    return response


@pytest.mark.usefixtures("_phases")
def test_uploads_to_a_held_out_phase_need_a_confirmed_address(browser: Browser, platform: Platform) -> None:
    larch = unconfirmed(browser(), "larch@example.org")

    refused, taken = send(larch, "hidden"), send(larch, "open")
    page = larch.get("/challenges/hidden/test/submit").text

    assert (refused.status_code, refused.json()["code"]) == (403, "address-not-confirmed")
    assert taken.status_code == 201
    assert (
        'href="/account/address?next=/challenges/hidden/test/submit">Confirm your e-mail address</a>: the annotation of test is hidden'
        in page
    )
    assert re.search(r'type="submit" disabled>Upload and check', page)
    assert larch.post(mailed_link(platform, "larch@example.org")).status_code == 303
    assert send(larch, "hidden").status_code == 201
    assert "disabled" not in larch.get("/challenges/hidden/test/submit").text


def test_the_mail_folder_is_shown_only_on_a_local_server(browser: Browser, platform: Platform) -> None:
    maple = unconfirmed(browser(), "maple@example.org")
    here = maple.get("/account/address").text
    public = platform.settings.model_copy(update={"public_url": "https://voc.example"})
    maple.app.state.platform = replace(platform, settings=public)  # type: ignore[attr-defined]
    there = maple.get("/account/address").text
    sending = public.model_copy(update={"smtp_host": "mail.example"})
    maple.app.state.platform = replace(platform, settings=sending)  # type: ignore[attr-defined]
    sent = maple.get("/account/address").text
    maple.app.state.platform = platform  # type: ignore[attr-defined]

    assert str(platform.settings.data / "mail") in here
    assert str(platform.settings.data) not in there
    assert "Ask its admins" in there
    assert "mail server" not in sent
