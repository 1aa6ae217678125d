"""Programs do not look for garbage while they are imported, and do afterwards."""

import gc
import subprocess
import sys
from collections.abc import Iterator

import pytest

from app.garbage import kept_for_good
from app.processes import environment_of
from app.settings import Settings


@pytest.fixture(autouse=True)
def as_before() -> Iterator[None]:
    yield
    gc.unfreeze()
    gc.enable()


def test_garbage_is_not_looked_for_inside_and_only_in_what_is_new_afterwards() -> None:
    with kept_for_good():
        inside = gc.isenabled()

    assert (inside, gc.isenabled()) == (False, True)
    assert gc.get_freeze_count() > 1000


def test_garbage_is_looked_for_where_an_import_failed() -> None:
    with pytest.raises(ImportError), kept_for_good():
        raise ImportError

    assert gc.isenabled()


def test_a_worker_looks_for_garbage_once_celery_has_imported_it() -> None:
    program = (
        "import gc; gc.disable(); import worker.main; from celery.signals import worker_init;"
        "worker_init.send(sender=None); print(gc.isenabled(), gc.get_freeze_count() > 1000)"
    )
    settings = Settings(database_url="postgresql+psycopg://nowhere/heldout", broker_url="redis://nowhere/0")

    done = subprocess.run(
        [sys.executable, "-c", program],
        env=environment_of(settings, without=set()),
        capture_output=True,
        text=True,
        check=True,
    )

    assert done.stdout.split() == ["True", "True"]
