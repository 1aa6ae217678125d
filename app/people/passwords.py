"""Password rules and hashes. Hashing runs in two threads of its own to limit the memory of the process."""

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
MIN_OWN = 6  # characters besides the owner's name and address
SERVICE = "heldout"  # a word that guessers would try first
# what people put before and after a common password
SIGNS, SIGNS_AND_DIGITS = re.compile(r"^[\W_]+|[\W_]+$"), re.compile(r"^[\W\d_]+|[\W\d_]+$")
BETWEEN = re.compile(r"[\s.@_+-]+")  # separators between the words of names and addresses


def password_problem(password: str, about: Iterable[str], common: Collection[str]) -> str | None:
    """Return why this password is not accepted, as a message; None if it is accepted.

    about: name and e-mail address of its owner; common: common passwords, case folded.

    >>> password_problem("Monkey12345!", [], {"monkey"})
    'this password is too easy to guess; choose another'
    >>> password_problem("correct horse battery", [], {"monkey"})
    """
    if len(password) < MIN_LENGTH:
        return f"must have at least {MIN_LENGTH} characters"
    if len(password) > MAX_LENGTH:
        return f"must have at most {MAX_LENGTH} characters"
    text = _folded(password)
    unit = _repeated(text)
    if unit != text and (unit in common or len(unit) < 4):
        return "this password repeats a few characters or a common password; choose another"
    if any(form in common for form in (text, SIGNS.sub("", text), SIGNS_AND_DIGITS.sub("", text))):
        return "this password is too easy to guess; choose another"
    if len(_without(text, about)) < MIN_OWN:
        return "this password is little more than your name or e-mail address; choose another"
    return None


def _folded(text: str) -> str:
    return unicodedata.normalize("NFKC", text).casefold()


def _repeated(text: str) -> str:
    """Return the shortest text that, when repeated and perhaps cut off, gives this one; the text itself if there is none.

    >>> _repeated("abcabcab"), _repeated("abcd")
    ('abc', 'abcd')
    """
    lengths = range(1, len(text) // 2 + 1)
    return next((text[:n] for n in lengths if text.startswith(text[n:])), text)


def _without(text: str, about: Iterable[str]) -> str:
    """Remove the words of the owner's name and address, and the separators between them, from a password."""
    words = {SERVICE}
    for each in about:
        words |= {_folded(each), *BETWEEN.split(_folded(each))}
    for word in sorted(words, key=len, reverse=True):
        if len(word) >= 3:
            text = text.replace(word, "")
    return BETWEEN.sub("", text)


# OWASP's smaller setting for Argon2id: 19 MiB a hash
_passwords = PasswordHash((Argon2Hasher(time_cost=2, memory_cost=19_456, parallelism=1),))
# verified for unknown addresses, so that the response time does not reveal which addresses have an account
DUMMY_HASH = (
    "$argon2id$v=19$m=19456,t=2,p=1$hBV0Yk5f69dmUFBAdRLZ9g$FNL+4BHmNmQLMhawSp/dMn7Gokw9breUOdpxpiIx8AY"
)

THREADS = 2  # the allocator keeps 19 MiB for each thread that has ever hashed
NICE = 5  # so that pages do not wait while someone guesses passwords
MAX_WAITING = 8  # each holds a thread of the web server, which has 40

Answer = TypeVar("Answer")


def _yield_to_others() -> None:
    """Lower the priority of this thread only: on Linux each thread has its own niceness."""
    os.nice(NICE)


class Pool:
    """A few threads with a bounded queue."""

    def __init__(self, threads: int, max_waiting: int) -> None:
        self.threads = ThreadPoolExecutor(threads, thread_name_prefix="hashing", initializer=_yield_to_others)
        self.slots = BoundedSemaphore(threads + max_waiting)

    def run(self, work: Callable[[], Answer]) -> Answer:
        """Run `work` in a thread and return its result. Raises BusyError at once if the queue is full."""
        if not self.slots.acquire(blocking=False):
            raise BusyError("Too many people are logging in at the moment. Please try again in a few seconds")
        try:
            return self.threads.submit(work).result()
        finally:
            self.slots.release()


pool = Pool(THREADS, MAX_WAITING)


@cache
def common_passwords() -> frozenset[str]:
    """Return the 30,000 most common leaked passwords, case folded (source: docs/decisions/accounts-and-mail.md)."""
    with gzip.open(Path(__file__).with_name("common.txt.gz"), "rt", encoding="utf-8") as lines:
        return frozenset(line.rstrip("\n") for line in lines)


def accepted_password(password: str, *about: str) -> str:
    """Return the password if its owner may use it; `about` is the owner's name and address.

    Raises ValueError with the problem.
    """
    problem = password_problem(password, about, common_passwords())
    if problem:
        raise ValueError(problem)
    return password


def hash_password(password: str) -> str:
    """Return a hash that includes its salt and parameters. Raises BusyError."""
    return pool.run(lambda: _passwords.hash(password))


def is_password(password: str, known: str | None) -> bool:
    """Whether a password matches a hash. Takes the same time without a hash. Raises BusyError."""
    is_right = pool.run(lambda: _passwords.verify(password, known or DUMMY_HASH))
    return is_right and known is not None
