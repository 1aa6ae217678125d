"""Which passwords are accepted, and their hashes, made in two threads of their own to keep the process small."""

import gzip
import os
import re
import unicodedata
from collections.abc import Callable, Collection, Iterable
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path
from threading import BoundedSemaphore
from typing import TypeVar

from pwdlib import PasswordHash
from pwdlib.hashers.argon2 import Argon2Hasher

from app.core.errors import BusyError

MIN_LENGTH = 10  # characters
MAX_LENGTH = 200
MIN_OWN = 6  # characters that are not the owner's name or address
SERVICE = "heldout"  # a word that a guesser tries here first
# what people put before and after a common password
SIGNS, SIGNS_AND_DIGITS = re.compile(r"^[\W_]+|[\W_]+$"), re.compile(r"^[\W\d_]+|[\W\d_]+$")
BETWEEN = re.compile(r"[\s.@_+-]+")  # signs between the words of names and addresses


def password_problem(password: str, about: Iterable[str], common: Collection[str]) -> str | None:
    """Why this is no password, as the rest of a sentence; none if it is one.

    about: name and e-mail address of its owner; common: folded passwords that are often used.

    >>> password_problem("Monkey12345!", [], {"monkey"})
    'is a common password, or one with a few digits or signs added; choose another'
    >>> password_problem("correct horse battery", [], {"monkey"})
    """
    if len(password) < MIN_LENGTH:
        return f"must have at least {MIN_LENGTH} characters"
    if len(password) > MAX_LENGTH:
        return f"must have at most {MAX_LENGTH} characters"
    text = _folded(password)
    unit = _repeated(text)
    if unit != text and (unit in common or len(unit) < 4):
        return "repeats a few characters or a common password; choose another"
    if any(form in common for form in (text, SIGNS.sub("", text), SIGNS_AND_DIGITS.sub("", text))):
        return "is a common password, or one with a few digits or signs added; choose another"
    if len(_without(text, about)) < MIN_OWN:
        return "is little more than your name or e-mail address; choose another"
    return None


def _folded(text: str) -> str:
    return unicodedata.normalize("NFKC", text).casefold()


def _repeated(text: str) -> str:
    """The shortest text of which this one is repetitions, the last perhaps cut off; a text itself if there is none.

    >>> _repeated("abcabcab"), _repeated("abcd")
    ('abc', 'abcd')
    """
    lengths = range(1, len(text) // 2 + 1)
    return next((text[:n] for n in lengths if text.startswith(text[n:])), text)


def _without(text: str, about: Iterable[str]) -> str:
    """A password without the words of its owner's name and address, and without the signs between them."""
    words = {SERVICE}
    for each in about:
        words |= {_folded(each), *BETWEEN.split(_folded(each))}
    for word in sorted(words, key=len, reverse=True):
        if len(word) >= 3:
            text = text.replace(word, "")
    return BETWEEN.sub("", text)


# OWASP's smaller setting for Argon2id: 19 MiB a hash
_passwords = PasswordHash((Argon2Hasher(time_cost=2, memory_cost=19_456, parallelism=1),))
# verified for unknown addresses, so that the time taken does not reveal which addresses have an account
DUMMY_HASH = (
    "$argon2id$v=19$m=19456,t=2,p=1$hBV0Yk5f69dmUFBAdRLZ9g$FNL+4BHmNmQLMhawSp/dMn7Gokw9breUOdpxpiIx8AY"
)

THREADS = 2  # the allocator keeps 19 MiB for each thread that has ever hashed
NICE = 5  # so that pages do not wait for passwords that somebody guesses
MAX_WAITING = 8  # each holds a thread of the web server, which has 40

Answer = TypeVar("Answer")


def _yield_to_others() -> None:
    """Let this thread alone have less of a busy processor: on Linux every thread has a niceness of its own."""
    os.nice(NICE)


class Pool:
    """A few threads with a bounded queue."""

    def __init__(self, threads: int, max_waiting: int) -> None:
        self.threads = ThreadPoolExecutor(threads, thread_name_prefix="hashing", initializer=_yield_to_others)
        self.places = BoundedSemaphore(threads + max_waiting)

    def run(self, work: Callable[[], Answer]) -> Answer:
        """The result of `work`, once its turn has come; raises BusyError at once when the queue is full."""
        if not self.places.acquire(blocking=False):
            raise BusyError("Too many people are logging in at the moment. Please try again in a few seconds")
        try:
            return self.threads.submit(work).result()
        finally:
            self.places.release()


pool = Pool(THREADS, MAX_WAITING)


@cache
def common_passwords() -> frozenset[str]:
    """The 30,000 passwords that leaks have most often, folded; docs/decisions/accounts-and-mail.md names the source."""
    with gzip.open(Path(__file__).with_name("common.txt.gz"), "rt", encoding="utf-8") as lines:
        return frozenset(line.rstrip("\n") for line in lines)


def accepted_password(password: str, *about: str) -> str:
    """The password, if its owner, whose name and address are `about`, may have it.

    Raises ValueError with what is wrong, as the rest of a sentence.
    """
    problem = password_problem(password, about, common_passwords())
    if problem:
        raise ValueError(problem)
    return password


def hash_password(password: str) -> str:
    """The hash to keep, which has its salt and parameters in it; raises BusyError."""
    return pool.run(lambda: _passwords.hash(password))


def is_password(password: str, known: str | None) -> bool:
    """Whether this is the password of a hash; takes as long without one. Raises BusyError."""
    is_right = pool.run(lambda: _passwords.verify(password, known or DUMMY_HASH))
    return is_right and known is not None
