"""Validation and comparison of names and e-mail addresses."""

import re
import unicodedata
from functools import cache
from typing import Annotated, Final
from urllib.parse import quote

from confusable_homoglyphs.confusables import confusables_data
from pydantic import AfterValidator

# the dot-atom of RFC 5322 and a domain of two or more labels: no quotes, comments, brackets, lists or line breaks
LOCAL = r"[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+(?:\.[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+)*"
LABEL = r"[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?"
ADDRESS = re.compile(rf"(?=.{{3,254}}\Z)(?=[^@]{{1,64}}@){LOCAL}@{LABEL}(?:\.{LABEL})+")


def is_mail_address(text: str) -> bool:
    r"""Whether this is a single e-mail address that mail can be sent to.

    >>> is_mail_address("ash.grove+voc@example.org"), is_mail_address("ash@localhost")
    (True, False)
    >>> is_mail_address("a@example.org\nBcc: b@example.org"), is_mail_address("a,b@example.org")
    (False, False)
    """
    return ADDRESS.fullmatch(text) is not None


# a capital i and a small L look alike, and names that differ only in case count as alike
_ONE_STROKE: Final = str.maketrans({"i": "l"})


def folded(text: str) -> str:
    """Normalise a name so that spellings of it compare equal: NFKC, case folded, trimmed.

    >>> folded(" ADMIN ") == folded("admin")
    True
    """
    return unicodedata.normalize("NFKC", text).casefold().strip()


def lookalike_key(name: str) -> str:
    r"""Return a key that is the same for all names that look the same: folded, with look-alike characters merged.

    Characters are compared as in Unicode Technical Standard 39, section 4; runs of spaces count as one space. The key is
    for comparison only.

    >>> lookalike_key("Oak") == lookalike_key("\u041eAK") == lookalike_key("0ak")  # a Cyrillic letter, a digit
    True
    >>> lookalike_key("rnodern Pine") == lookalike_key("MODERN  PlNE"), lookalike_key("Oak") == lookalike_key("Oaks")
    (True, False)
    """
    once = folded(_plain(unicodedata.normalize("NFKC", name)))
    return " ".join(_plain(once).casefold().split()).translate(_ONE_STROKE)


def _plain(text: str) -> str:
    return "".join(_prototype(character) for character in text)


@cache
def _prototype(character: str) -> str:
    """The representative of all characters that look like this one: the one with several look-alikes, if there is one."""
    alike = _alike(character)
    if len(alike) != 1:
        return character
    [other] = alike
    return min(character, other) if len(_alike(other)) == 1 else other


def _alike(character: str) -> list[str]:
    return [each["c"].strip("\u200e") for each in confusables_data.get(character, ())]


def is_visible(name: str) -> bool:
    r"""Whether a name has visible characters and no control, format or unassigned ones.

    >>> is_visible("LEAR_flat"), is_visible("admin\u200b"), is_visible("  "), is_visible("\u202egro.evil")
    (True, False, False, False)
    """
    kinds = [unicodedata.category(character) for character in name]
    return any(kind[0] in "LNPS" for kind in kinds) and not any(
        kind[0] == "C" or kind in ("Zl", "Zp") for kind in kinds
    )


def _visible(name: str) -> str:
    if not is_visible(name):
        message = "must have visible characters, and no control or invisible ones"
        raise ValueError(message)
    return name


Visible = AfterValidator(_visible)


def _mail_address(text: str) -> str:
    address = folded(text)
    if not is_mail_address(address):
        raise ValueError("is not an e-mail address, such as name@example.org")
    return address


MailAddress = Annotated[str, AfterValidator(_mail_address)]


MAX_NAME_LENGTH = 120
KEPT_ENDING = 20  # characters kept at the end of a shortened name, including the ellipsis


def shown_name(filename: str) -> str:
    r"""Return a file's name as stored and shown: without folders and hidden characters, and not too long.

    It never becomes a path; files are stored under their hash.

    >>> shown_name("../../tmp/evil\x1b[2J.tar.gz"), shown_name("")
    ('evil[2J.tar.gz', 'archive')
    >>> shown_name("a method " + 200 * "x" + " of may.tar.gz")[-24:]
    'xxxx…xxxxx of may.tar.gz'
    """
    last = filename.replace("\\", "/").rsplit("/", 1)[-1]
    seen = "".join(letter for letter in last if unicodedata.category(letter)[0] != "C").strip(" .")
    if len(seen) > MAX_NAME_LENGTH:
        seen = f"{seen[: MAX_NAME_LENGTH - KEPT_ENDING]}…{seen[1 - KEPT_ENDING :]}"
    return seen or "archive"


def attachment(filename: str) -> str:
    """Return a `Content-Disposition` that saves a file under this name, whatever characters it contains.

    >>> print(attachment('a "b" ü.zip'))
    attachment; filename="a _b_ _.zip"; filename*=UTF-8''a%20%22b%22%20%C3%BC.zip
    """
    plain = re.sub(r"[^A-Za-z0-9 ._()+-]", "_", filename)
    return f"attachment; filename=\"{plain}\"; filename*=UTF-8''{quote(filename, safe='')}"


# of challenges and image sets, in URLs
LONGEST_NAME: Final = 40
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]*")
# path segments that are used, or may be one day, where a URL has a challenge or image set
_RESERVED = frozenset(
    [
        "account",
        "admin",
        "api",
        "boards",
        "competitions",
        "description",
        "docs",
        "challenges",
        "results",
        "health",
        "leaderboards",
        "login",
        "logout",
        "methods",
        "new",
        "organise",
        "phases",
        "ready",
        "register",
        "rescores",
        "runs",
        "static",
        "submissions",
        "submit",
        "uploads",
    ]
)


def check_name(name: str, what: str) -> None:
    """Raise ValueError for a name that cannot be used in URLs; `what` is "challenge code" or "image set".

    >>> check_name("VOC2007", "challenge code")
    """
    if problem := problem_of_name(name):
        raise ValueError(f"{what} {problem}")


def problem_of_name(name: str) -> str | None:
    """Why a name cannot be used in URLs, after a word for what it is the name of; None if it can.

    >>> problem_of_name("admin")
    "'admin' is reserved, because URLs of other pages contain it"
    """
    if not _NAME.fullmatch(name) or ".." in name:
        expected = "letters, digits, '_', '.' and '-', beginning with a letter or digit"
        return f"{name!r} cannot be used in URLs; expected {expected}"
    if len(name) > LONGEST_NAME:
        return f"{name!r} has {len(name)} characters; at most {LONGEST_NAME} are allowed"
    return (
        f"{name!r} is reserved, because URLs of other pages contain it" if name.lower() in _RESERVED else None
    )
