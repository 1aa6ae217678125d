"""Each subject has at most one artefact, made from its newest data."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import pytest

from app.intake import for_one
from app.models import Artefact
from app.operations import backup
from app.platform import Platform
from app.results import artefacts

NOW = datetime(2026, 11, 22, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Subject:
    """The subject of one test's artefacts."""

    platform: Platform
    name: str

    def store(self, content: bytes, version: str = "1", as_of: datetime = NOW) -> None:
        artefacts.store(self.platform, "drawing", self.name, version, "image/svg+xml", content, as_of=as_of)

    def found(self) -> Artefact:
        with self.platform.transaction() as session:
            found = artefacts.find(session, "drawing", self.name)
        assert found is not None
        return found


@pytest.fixture
def subject(platform: Platform, request: pytest.FixtureRequest) -> Subject:
    return Subject(platform, request.node.name)


def test_a_stored_artefact_is_read_back(platform: Platform, subject: Subject) -> None:
    assert artefacts.read(platform, "drawing", "nothing") is None

    subject.store(b"<svg/>", "1")

    assert artefacts.read(platform, "drawing", subject.name) == b"<svg/>"
    assert (subject.found().version, subject.found().media_type) == ("1", "image/svg+xml")


def test_the_same_content_under_another_version_is_stored_once(platform: Platform, subject: Subject) -> None:
    subject.store(b"<svg>same</svg>", "1")
    key = subject.found().key

    subject.store(b"<svg>same</svg>", "2", NOW + timedelta(seconds=1))

    assert (subject.found().version, subject.found().key) == ("2", key)


def test_an_artefact_made_from_newer_data_is_not_replaced(platform: Platform, subject: Subject) -> None:
    subject.store(b"<svg>new</svg>", "new", NOW + timedelta(minutes=2))

    subject.store(b"<svg>old</svg>", "old", NOW + timedelta(minutes=1))
    subject.store(b"<svg>new</svg>", "old", NOW + timedelta(minutes=1))

    assert subject.found().version == "new"
    assert artefacts.read(platform, "drawing", subject.name) == b"<svg>new</svg>"


def test_what_is_made_for_one_organiser_for_ten_minutes_is_in_no_backup(
    platform: Platform, subject: Subject
) -> None:
    subject.store(b"lasts")
    for_one.store(platform, for_one.SCENES, f"{subject.name}/1", b"hidden")
    with platform.transaction() as session:
        scene = for_one.find(session, for_one.SCENES, f"{subject.name}/1")
    assert scene is not None

    with platform.engine.connect() as connection:
        named = {path.name for path in backup.referenced_files(connection)}

    assert subject.found().key in named
    assert scene.key not in named
