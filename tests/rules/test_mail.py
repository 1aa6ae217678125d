from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from email import message_from_bytes
from email.policy import default

import pytest

from app.core.names import is_mail_address
from app.core.settings import ROOT
from app.jobs.mail import (
    LINKS,
    PER_HOUR,
    MailTemplate,
    RecentRequests,
    Recipient,
    address_for,
    message_of,
    next_allowed,
    render_mail,
    split_subject,
    template_for,
)

NOW = datetime(2026, 11, 22, 12, tzinfo=UTC)
HOUR, DAY = timedelta(hours=1), timedelta(days=1)
FIELDS = {
    "server": "https://voc.example",
    "link": "https://voc.example/confirm-address/" + "x" * 43,
    "left": "9",
    "provider": "Example ID",
    "name": "Übung",
    "scopes": "read, submit",
    "days": "90",
    "tokens": "2",
    "browser": "Firefox on Linux",
    "sentence": "A challenge on oaks",
    "reason": "Tell us more",
    "challenge": "Äpfel",
    "role": "a viewer",
}


def requested(*ages: timedelta, by_person: tuple[timedelta, ...] = (), last_hour: int = 0) -> RecentRequests:
    times = tuple(NOW - age for age in sorted(ages, reverse=True))
    return RecentRequests(NOW, times, tuple(NOW - age for age in sorted(by_person, reverse=True)), last_hour)


@pytest.mark.parametrize(
    ("before", "wait"),
    [
        (requested(), None),
        (requested(*[HOUR / 4] * 2), None),
        (requested(HOUR / 4, HOUR / 2, HOUR * 3 / 4), HOUR / 4),
        (requested(HOUR / 4, HOUR / 2, HOUR), None),  # the third is an hour old
        (requested(*[2 * HOUR] * 5), DAY - 2 * HOUR),
        (requested(*[20 * HOUR] * 3, *[HOUR / 2] * 3), DAY - 20 * HOUR),
        (requested(*[DAY] * 9), None),
        (requested(by_person=(HOUR,) * 19), None),
        (requested(by_person=(HOUR,) * 20), DAY - HOUR),
        (requested(last_hour=PER_HOUR - 1), None),
        (requested(last_hour=PER_HOUR), HOUR),
        (requested(*[HOUR / 2] * 3, by_person=(HOUR,) * 20, last_hour=PER_HOUR), DAY - HOUR),
    ],
)
def test_mail_waits_until_every_limit_allows_it(before: RecentRequests, wait: timedelta | None) -> None:
    assert next_allowed(MailTemplate.RESET_PASSWORD, before) == (None if wait is None else NOW + wait)


@pytest.mark.parametrize(("ages", "wait"), [((9,), 1), ((10,), None), (range(10, 1430, 10), None)])
def test_a_login_link_works_until_the_next_one_may_be_sent(ages: Iterable[int], wait: int | None) -> None:
    minute = timedelta(minutes=1)
    before = requested(*[age * minute for age in ages])

    assert next_allowed(MailTemplate.LOGIN_LINK, before) == (None if wait is None else NOW + wait * minute)
    assert LINKS[MailTemplate.LOGIN_LINK].lifetime >= 15 * minute


def recipient(**changed: object) -> Recipient:
    fields = {"new_address": None, "is_verified": False, "is_taken": False, **changed}
    return Recipient(7, "ash@example.org", **fields)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("asked", "person", "sent"),
    [
        (MailTemplate.CONFIRM_ADDRESS, recipient(), MailTemplate.CONFIRM_ADDRESS),
        (MailTemplate.CONFIRM_ADDRESS, recipient(is_taken=True), MailTemplate.ALREADY_REGISTERED),
        (MailTemplate.CONFIRM_ADDRESS, recipient(is_verified=True), None),
        (MailTemplate.RESET_PASSWORD, recipient(is_verified=True), MailTemplate.RESET_PASSWORD),
        (MailTemplate.ADDRESS_CHANGED, recipient(is_taken=True), MailTemplate.ADDRESS_CHANGED),
        (MailTemplate.CONFIRM_NEW_ADDRESS, recipient(), None),
        (
            MailTemplate.CONFIRM_NEW_ADDRESS,
            recipient(new_address="oak@example.org"),
            MailTemplate.CONFIRM_NEW_ADDRESS,
        ),
        (
            MailTemplate.CONFIRM_NEW_ADDRESS,
            recipient(new_address="oak@example.org", is_taken=True),
            MailTemplate.ALREADY_REGISTERED,
        ),
    ],
)
def test_a_taken_address_gets_a_hint_instead_of_a_link(
    asked: MailTemplate, person: Recipient, sent: MailTemplate | None
) -> None:
    assert template_for(asked, person) == sent


@pytest.mark.parametrize("letter", MailTemplate)
def test_only_the_confirmation_of_a_new_address_is_sent_to_it(letter: MailTemplate) -> None:
    moving = recipient(new_address="oak@example.org")

    assert address_for(letter, recipient()) == "ash@example.org"
    assert address_for(letter, moving) == (
        "oak@example.org" if letter is MailTemplate.CONFIRM_NEW_ADDRESS else "ash@example.org"
    )


@pytest.mark.parametrize("letter", MailTemplate)
def test_every_mail_is_plain_ascii_with_a_subject_and_unbroken_absolute_links(
    letter: MailTemplate,
) -> None:
    text = render_mail(letter, passwords=True, **FIELDS)

    sent = message_of(text, sender="heldout@voc.example", to="ash@example.org", now=NOW).as_bytes()

    read = message_from_bytes(sent, policy=default)
    assert sent.isascii()
    assert text.subject
    assert "\n" not in text.subject
    assert FIELDS["server"].encode() in sent
    assert (FIELDS["link"].encode() in sent) == (letter in LINKS or letter is MailTemplate.ROLE_INVITATION)
    assert [read["To"], read["From"], read["Auto-Submitted"]] == [
        "ash@example.org", "Heldout <heldout@voc.example>", "auto-generated",
    ]  # fmt: skip


@pytest.mark.parametrize("letter", sorted(set(MailTemplate) - {MailTemplate.RESET_PASSWORD}))
def test_without_passwords_no_mail_links_to_the_password_reset(letter: MailTemplate) -> None:
    assert "forgot-password" not in render_mail(letter, passwords=False, **FIELDS).body


def test_every_mail_template_has_a_file() -> None:
    names = {path.stem for path in (ROOT / "templates" / "mail").iterdir()}

    assert names == {letter.value for letter in MailTemplate}


HOSTILE = [
    "ash@example.org\r\nBcc: victim@example.org",
    "ash@example.org\nBcc: victim@example.org",
    "ash@example.org, victim@example.org",
    "a,victim@example.org",
    "<victim@example.org>",
    "Ash <victim@example.org>",
    '"a b"@example.org',
    "(comment)ash@example.org",
    "ash@[127.0.0.1]",
    "ash@localhost",
    "ash@example.org\0",
    "ash@example.org\u2028",
    "ash@exämple.org",
    ".ash@example.org",
    "a..sh@example.org",
    "@example.org",
    "ash@",
    "ash@-example.org",
    f"{'a' * 65}@example.org",
    f"ash@{'a' * 250}.org",
    "",
]


@pytest.mark.parametrize("text", HOSTILE)
def test_text_that_could_reach_somebody_else_is_not_an_address(text: str) -> None:
    assert not is_mail_address(text)


@pytest.mark.parametrize("text", ["ash@example.org", "o'hara+voc@sub.example.co.uk", "a@b.c", "1_2@3-4.org"])
def test_common_addresses_are_accepted(text: str) -> None:
    assert is_mail_address(text)


def test_a_subject_cannot_inject_a_header() -> None:
    text = split_subject("Subject: Join\r\u2028\x00\x0b Bcc:\tvictim@example.org\nBody")

    message = message_of(text, sender="heldout@voc.example", to="ash@example.org", now=NOW)

    assert message_from_bytes(message.as_bytes(), policy=default)["Bcc"] is None
    assert text.subject == "Join Bcc: victim@example.org"


def test_a_message_refuses_an_invalid_address_that_nobody_checked_before() -> None:
    with pytest.raises(ValueError, match=r"invalid|CR|domain|addr"):
        message_of(
            render_mail(MailTemplate.CONFIRM_ADDRESS, passwords=True, **FIELDS),
            sender="a@b.c",
            to=HOSTILE[0],
            now=NOW,
        )
