"""Which passwords are accepted, and their hashes, made in two threads of their own to keep the process small."""

import gzip
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path
from threading import BoundedSemaphore
from typing import TypeVar

from pwdlib import PasswordHash
from pwdlib.hashers.argon2 import Argon2Hasher

from app.errors import BusyError
from app.passwords.rules import password_problem

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
