"""Artefacts are kept once per subject, and what no row names goes."""

import os
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from app.artefacts import queries, service
from app.artefacts.schemas import ArtefactView
from app.platform import Platform

NOW = datetime(2026, 11, 22, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Subject:
    """What one test stores artefacts of."""

    platform: Platform
    name: str

    def store(self, content: bytes, version: str = "1", as_of: datetime = NOW) -> None:
        service.store(self.platform, "drawing", self.name, version, "image/svg+xml", content, as_of=as_of)

    def found(self) -> ArtefactView:
        with self.platform.transaction() as session:
            found = queries.find(session, "drawing", self.name)
        assert found is not None
        return found


@pytest.fixture
def subject(platform: Platform, request: pytest.FixtureRequest) -> Subject:
    return Subject(platform, request.node.name)


def test_an_artefact_is_read_as_it_was_stored(platform: Platform, subject: Subject) -> None:
    assert service.read(platform, "drawing", "nothing") is None

    subject.store(b"<svg/>", "1")

    found = service.read(platform, "drawing", subject.name)
    assert found is not None
    assert (found.version, found.media_type, found.content) == ("1", "image/svg+xml", b"<svg/>")


def test_the_same_content_under_another_version_is_stored_once(platform: Platform, subject: Subject) -> None:
    subject.store(b"<svg>same</svg>", "1")
    key = subject.found().key

    subject.store(b"<svg>same</svg>", "2", NOW + timedelta(seconds=1))

    found = service.read(platform, "drawing", subject.name)
    assert found is not None
    assert (found.version, subject.found().key) == ("2", key)


def test_what_was_made_from_later_data_stays(platform: Platform, subject: Subject) -> None:
    subject.store(b"<svg>new</svg>", "new", NOW + timedelta(minutes=2))

    subject.store(b"<svg>old</svg>", "old", NOW + timedelta(minutes=1))
    subject.store(b"<svg>new</svg>", "old", NOW + timedelta(minutes=1))

    found = service.read(platform, "drawing", subject.name)
    assert found is not None
    assert (found.version, found.content) == ("new", b"<svg>new</svg>")


def test_a_rendered_artefact_has_the_etag_of_its_content(platform: Platform, subject: Subject) -> None:
    subject.store(b"<svg>one</svg>", as_of=NOW + timedelta(hours=1))
    one = subject.found()
    subject.store(b"<svg>two</svg>", as_of=NOW + timedelta(hours=2))
    two = subject.found()

    assert service.rendered(platform, one).etag == service.rendered(platform, one).etag
    assert service.rendered(platform, one).etag != service.rendered(platform, two).etag


def test_old_contents_that_no_artefact_names_are_removed(platform: Platform, subject: Subject) -> None:
    subject.store(b"<svg>before</svg>", as_of=NOW + timedelta(days=1))
    before = subject.found().key
    subject.store(b"<svg>after</svg>", as_of=NOW + timedelta(days=2))
    service.remove_unused(platform)
    assert platform.artefacts.exists(before)  # it is of today, its row may be about to be written

    make_old(platform)
    service.remove_unused(platform)

    assert not platform.artefacts.exists(before)
    assert platform.artefacts.exists(subject.found().key)


def make_old(platform: Platform) -> None:
    for content in platform.artefacts.contents():
        with platform.artefacts.materialise(content.key) as path:
            _age(path)


def _age(path: Path) -> None:
    old = path.stat().st_mtime - timedelta(days=2).total_seconds()
    os.utime(path, (old, old))
