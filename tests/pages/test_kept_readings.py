"""What was read of a data set is kept for the workers alone, opened in place of its files, and deleted with the data set."""

import os
import struct
import uuid
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import func, select, text, update

from app.core.errors import StorageFullError
from app.intake import intakes, reading
from app.models import Base, Challenge, Intake, IntakeFile, IntakeRole, IntakeSegment, IntakeState, Job
from app.platform import Platform
from app.submissions import retention
from tests.pages.data_sets import kit, zipped
from tests.pages.test_drafts import NEW, Place, place
from tests.working import do_all

__all__ = ["place"]
SIDE = 33.0625
CANARY = struct.pack("<d", SIDE)  # as ground truth has it
TABLE = f"image,class,left,top,right,bottom\na.jpg,cat,1,1,10,10\na.jpg,dog,20,5,40,30\nb.jpg,dog,5,5,{SIDE},30\n".encode()
BOXES = zipped({"test.csv": TABLE})
DATA_SETS = "/api/v1/organise/data-sets"


def newest(place: Place, code: str) -> Intake:
    """The row of the data set of a draft."""
    with place.platform.transaction() as session:
        statement = select(Intake).join(Challenge).where(Challenge.code == code)
        return session.scalars(statement.order_by(Intake.created_at.desc())).first() or pytest.fail(
            "no data set"
        )


def segments(place: Place, intake: uuid.UUID) -> list[str]:
    with place.platform.transaction() as session:
        statement = select(IntakeSegment.key).join(IntakeFile, IntakeFile.id == IntakeSegment.file_id)
        return list(session.scalars(statement.where(IntakeFile.intake_id == intake)))


def rename(place: Place, code: str, name: str) -> Mapping[str, Any]:
    """Give the class `cat` another name, let workers do what follows, and return the report."""
    found = [each["found"] for each in newest(place, code).report["classes"]]  # type: ignore[index]
    names = [name if each == "cat" else each for each in found]
    place.save(code, "classes", found=found, names=names, positions=["1", "2"])
    do_all(place.platform)
    row = newest(place, code)
    assert (row.state, row.message) == (IntakeState.READ, "")
    assert row.report is not None
    return row.report


@pytest.fixture(scope="module")
def draft(place: Place) -> str:
    """A draft with hidden annotation that was read."""
    code = place.draft()
    place.send(code, public=zipped(kit("val")), hidden=BOXES)
    return code


def test_another_name_of_a_class_opens_no_segment_and_changes_nothing_else(place: Place) -> None:
    code = place.draft()
    place.send(code, public=zipped(kit("val")), hidden=BOXES)
    row = newest(place, code)
    keys_of = segments(place, row.id)
    for key in keys_of:
        place.platform.intake.delete(key)

    again = rename(place, code, "tom")

    assert row.kept_key is not None
    assert row.kept_key == newest(place, code).kept_key
    assert not any(map(place.platform.intake.exists, keys_of))
    assert [each["name"] for each in again["classes"]] == ["tom", "dog"]
    assert not any(reading.scratch_root(place.platform).iterdir())
    refused = place.save(code, "data")
    do_all(place.platform)
    assert refused.status_code == 303
    assert newest(place, code).state is IntakeState.FAILED  # reading anew needs the segments
    assert newest(place, code).kept_key is None
    assert not place.platform.intake.exists(row.kept_key)


def test_nothing_readable_of_what_was_read_outlives_the_job(place: Place, draft: str) -> None:
    row = newest(place, draft)

    assert row.kept_key is not None
    assert place.platform.intake.open(row.kept_key).read().startswith(b"age-encryption.org/v1")
    stored = [path for path in place.platform.settings.data.rglob("*") if path.is_file()]
    assert any(path.name.startswith(row.kept_key) for path in stored)
    assert [path for path in stored if CANARY in path.read_bytes()] == []
    with place.platform.transaction() as session:
        for table in Base.metadata.sorted_tables:
            rows = session.execute(text(f'SELECT t::text FROM "{table.name}" t')).scalars().all()
            assert not any(str(SIDE) in each or CANARY.hex() in each for each in rows), table.name


def kept(place: Place) -> tuple[str, uuid.UUID, str]:
    """The code of a draft, its data set with a file of hidden annotation, and the key of something kept for it."""
    code = place.draft()
    intake = newest(place, code).id
    sent = place.organiser.put(f"{DATA_SETS}/{intake}/files/hidden/test.csv", content=TABLE)
    assert sent.status_code == 201
    key = place.platform.intake.put(intake.bytes, intake)
    with place.platform.transaction() as session:
        session.execute(update(Intake).where(Intake.id == intake).values(kept_key=key))
    return code, intake, key


def add_file(place: Place, code: str, intake: uuid.UUID) -> None:
    place.organiser.put(f"{DATA_SETS}/{intake}/files/images/a.zip", content=b"x")


def remove_file(place: Place, code: str, intake: uuid.UUID) -> None:
    with place.platform.transaction() as session:
        file = session.scalars(select(IntakeFile.id).where(IntakeFile.intake_id == intake)).one()
    place.organiser.delete(f"{DATA_SETS.replace('data-sets', 'data-set-files')}/{file}")


def read_anew(place: Place, code: str, intake: uuid.UUID) -> None:
    place.organiser.post(f"{DATA_SETS}/{intake}/read")


def delete_data_set(place: Place, code: str, intake: uuid.UUID) -> None:
    place.organiser.delete(f"{DATA_SETS}/{intake}")


def delete_draft(place: Place, code: str, intake: uuid.UUID) -> None:
    place.organiser.post(f"{NEW}/{code}/delete")


def expire(place: Place, code: str, intake: uuid.UUID) -> None:
    ago = {
        "changed_at": func.now() - text("interval '40 days'"),
        "warned_at": func.now() - text("interval '8 days'"),
    }
    with place.platform.transaction() as session:
        session.execute(update(Intake).where(Intake.id == intake).values(**ago))
    intakes.remove_untouched(place.platform)


@pytest.mark.sampled
@pytest.mark.parametrize("end", [add_file, remove_file, read_anew, delete_data_set, delete_draft, expire])
def test_what_was_read_is_deleted_as_soon_as_it_no_longer_counts(
    place: Place, end: Callable[[Place, str, uuid.UUID], None]
) -> None:
    code, intake, key = kept(place)
    assert place.platform.intake.exists(key)

    end(place, code, intake)

    assert not place.platform.intake.exists(key)


def without_any(place: Place, row: Intake) -> None:
    with place.platform.transaction() as session:
        session.execute(update(Intake).where(Intake.id == row.id).values(kept_key=None))
    place.platform.intake.delete(str(row.kept_key))


def without_its_object(place: Place, row: Intake) -> None:
    place.platform.intake.delete(str(row.kept_key))


def of_another(place: Place, row: Intake) -> None:
    code = place.draft()
    place.send(code, hidden=BOXES)
    with place.platform.transaction() as session:
        other = newest(place, code).kept_key
        session.execute(update(Intake).where(Intake.id == row.id).values(kept_key=other))
    place.platform.intake.delete(str(row.kept_key))


def not_sealed(place: Place, row: Intake) -> None:
    key = place.platform.intake.put(b"PK", row.id)
    with place.platform.transaction() as session:
        session.execute(update(Intake).where(Intake.id == row.id).values(kept_key=key))
    place.platform.intake.delete(str(row.kept_key))


@pytest.mark.sampled
@pytest.mark.parametrize("spoil", [without_any, without_its_object, of_another, not_sealed])
def test_a_data_set_is_read_again_where_what_was_read_cannot_be_used(
    place: Place, draft: str, spoil: Callable[[Place, Intake], None]
) -> None:
    spoil(place, newest(place, draft))
    before = newest(place, draft).kept_key

    again = rename(place, draft, spoil.__name__)

    after = newest(place, draft).kept_key
    assert [each["name"] for each in again["classes"]] == [spoil.__name__, "dog"]
    assert after not in (before, None)
    assert place.platform.intake.exists(str(after))


def test_what_was_read_as_hidden_is_not_reported_as_public_whatever_the_database_says(place: Place) -> None:
    code = place.draft()
    place.send(code, hidden=BOXES)
    file = update(IntakeFile).where(IntakeFile.intake_id == newest(place, code).id)
    with place.platform.transaction() as session:
        session.execute(file.values(role=IntakeRole.PUBLIC))

    place.save(code, "classes", found=["cat", "dog"], names=["tom", "dog"], positions=["1", "2"])
    do_all(place.platform)

    assert newest(place, code).report is None
    assert "The file was not sent as public" in newest(place, code).message


def test_what_a_killed_worker_has_kept_is_swept_and_the_next_one_keeps_its_own(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    code = place.draft()
    do_all(place.platform)
    with monkeypatch.context() as patched:

        def killed(*_: object) -> None:
            raise OSError("killed")

        patched.setattr(reading, "_record", killed)
        place.send(code, hidden=BOXES)
    row = newest(place, code)
    left = unnamed(place)
    for path in (place.platform.settings.data / "storage" / "intake" / "content").rglob("*"):
        if path.is_file():
            os.utime(path, (1, 1))
    retention.remove_unnamed(place.platform, "intake")
    with place.platform.transaction() as session:
        session.execute(update(Job).values(not_before=None))
    do_all(place.platform)

    assert (row.state, row.kept_key, len(left)) == (IntakeState.READING, None, 1)
    assert not any(map(place.platform.intake.exists, left))
    assert newest(place, code).state is IntakeState.READ
    assert not unnamed(place)


def unnamed(place: Place) -> set[str]:
    """The objects of data sets that no row names."""
    with place.platform.transaction() as session:
        of_rows = select(IntakeSegment.key), select(Intake.kept_key)
        named = {key for statement in of_rows for key in session.scalars(statement)}
    return {each.key for each in place.platform.intake.contents()} - named


def test_a_data_set_that_is_cancelled_while_it_is_read_leaves_nothing(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    code = place.draft()
    keep = reading._keep

    def cancelled(platform: Platform, task: reading.ReadingTask, folder: Path) -> str | None:
        assert place.organiser.post(f"{DATA_SETS}/{task.intake_id}/cancel").status_code == 200
        return keep(platform, task, folder)

    monkeypatch.setattr(reading, "_keep", cancelled)
    place.send(code, hidden=BOXES)

    assert (newest(place, code).state, newest(place, code).kept_key) == (IntakeState.CANCELLED, None)
    assert not unnamed(place)


def test_a_full_store_keeps_no_data_set_from_being_read(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    code = place.draft()
    put = type(place.platform.intake).put

    def full(store: Any, content: bytes | Path, owner: uuid.UUID | None = None) -> str:
        if isinstance(content, Path):
            raise StorageFullError("No space left on device")
        return put(store, content, owner)

    monkeypatch.setattr(type(place.platform.intake), "put", full)
    place.send(code, hidden=BOXES)

    assert (newest(place, code).state, newest(place, code).kept_key) == (IntakeState.READ, None)
