"""How much mail is sent, to which address, and what a message looks like."""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from email.headerregistry import Address
from email.message import EmailMessage
from email.policy import SMTP
from email.utils import format_datetime, make_msgid
from urllib.parse import urlsplit

from app.mail.schemas import Letter, Limit, Link, Place, Recipient, Requested, Text

DAY = timedelta(days=1)
LOOPBACK = {"127.0.0.1", "::1", "localhost"}
# of one letter to one address, whoever asks; the links of the last day all work, so that nobody can be locked out
TO_ADDRESS = (Limit(3, timedelta(hours=1)), Limit(5, DAY))
# a login link lasts 15 minutes: while no other is sent, the last one works for five more, so no stranger can use up the mail
# that lets an owner in; a limit by day would let them
TO_ADDRESS_OF: Mapping[Letter, tuple[Limit, ...]] = {Letter.LOGIN_LINK: (Limit(1, timedelta(minutes=10)),)}
BY_PERSON = (Limit(20, DAY),)
PER_HOUR = 500  # of the whole installation

LINKS: Mapping[Letter, Link] = {
    Letter.CONFIRM_ADDRESS: Link("/confirm-address", timedelta(days=7)),
    Letter.CONFIRM_NEW_ADDRESS: Link("/confirm-address", timedelta(days=7)),
    Letter.RESET_PASSWORD: Link("/reset-password", DAY),
    Letter.LOGIN_LINK: Link("/login-link", timedelta(minutes=15)),
}
# lines of up to 998 characters are legal, and links stay in one piece; names of any alphabet pass every server
POLICY = SMTP.clone(max_line_length=998, cte_type="7bit")


def next_allowed(letter: Letter, requested: Requested) -> datetime | None:
    """When one more mail of this kind may be sent; none: now."""
    times = [
        *_waits(requested.now, requested.to_address, TO_ADDRESS_OF.get(letter, TO_ADDRESS)),
        *_waits(requested.now, requested.by_person, BY_PERSON),
    ]
    if requested.last_hour >= PER_HOUR:
        times.append(requested.now + timedelta(hours=1))
    return max(times, default=None)


def _waits(now: datetime, times: Sequence[datetime], limits: Sequence[Limit]) -> list[datetime]:
    """For each limit that is reached, when it is not reached any more."""
    waits = []
    for limit in limits:
        recent = sorted(time for time in times if time > now - limit.window)
        if len(recent) >= limit.count:
            waits.append(recent[-limit.count] + limit.window)
    return waits


def place_of(mail_server: str | None, address: str, folder: str) -> Place:
    """Where people find their mail; the folder is shown only where they use the server at the machine that it runs on.

    >>> place_of(None, "http://127.0.0.1:8000", "/home/ash/heldout-data/mail").folder
    '/home/ash/heldout-data/mail'
    >>> place_of(None, "https://voc.example", "/srv/heldout/mail")
    Place(is_sent=False, folder=None)
    """
    is_here = urlsplit(address).hostname in LOOPBACK
    return Place(mail_server is not None, folder if is_here and mail_server is None else None)


def letter_for(letter: Letter, recipient: Recipient) -> Letter | None:
    """What is really sent: to an address that another account has confirmed, a hint instead of a link.

    None where the letter has no point any more.
    """
    match letter:
        case Letter.CONFIRM_ADDRESS if recipient.is_verified:
            return None
        case Letter.CONFIRM_NEW_ADDRESS if recipient.new_address is None:
            return None
        case Letter.CONFIRM_ADDRESS | Letter.CONFIRM_NEW_ADDRESS if recipient.is_taken:
            return Letter.ALREADY_REGISTERED
    return letter


def address_for(letter: Letter, recipient: Recipient) -> str:
    """Which address of a person a letter goes to."""
    if letter is Letter.CONFIRM_NEW_ADDRESS and recipient.new_address is not None:
        return recipient.new_address
    return recipient.address


def parted(text: str) -> Text:
    r"""The subject, in the first line of a drawn template, and the rest.

    >>> parted("Subject: Confirm\n\nHello,\n")
    Text(subject='Confirm', body='Hello,\n')
    """
    head, _, body = text.partition("\n")
    return Text(_single_line(head.removeprefix("Subject:")), body.lstrip("\n"))


def _single_line(text: str) -> str:
    """A text with every run of white space and control characters as one space, so that it stays in its header."""
    return " ".join("".join(letter if letter.isprintable() else " " for letter in text).split())


def message_of(text: Text, *, sender: str, to: str, now: datetime) -> EmailMessage:
    """A message to exactly one address; raises ValueError for what is no address."""
    local, _, domain = to.rpartition("@")
    message = EmailMessage(policy=POLICY)
    message["From"] = Address("Heldout", addr_spec=sender)
    message["To"] = Address(username=local, domain=domain)
    message["Subject"] = text.subject
    message["Date"] = format_datetime(now)
    message["Message-ID"] = make_msgid(domain=sender.rpartition("@")[2])
    message["Auto-Submitted"] = "auto-generated"  # no notes of absence in reply
    message.set_content(text.body)
    return message
