"""Contexts for the data page of a challenge and its organisers' pages."""

import uuid
from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from typing import Any

from app.challenges.availability import Stage
from app.challenges.data_page import DataPage
from app.challenges.file_changes import DataUploadView, OrganisedFile, OrganisedFiles
from app.challenges.files import DownloadLog, EarlierVersion, FileView, LoggedDownload
from app.challenges.phase_files import (
    GeneratedFile,
    GeneratedKind,
    ImageArchive,
    MadeArchive,
    NotOffered,
    ObjectCount,
    PhaseFiles,
    Snippet,
    StatisticsTable,
)
from app.challenges.pictures_from import ParticipantsPictures
from app.models import Audience, FileKind
from heldout_scoring import Limits
from tests.pages.drawn import EVIL
from tests.pages.views import NOW, PHASE, VAL

FILE = FileView(
    id=3,
    name=EVIL,
    title=EVIL,
    kind=FileKind.IMAGES,
    image_set="test",
    image_licence=EVIL,
    annotation_licence=EVIL,
    audience=Audience.TERMS,
    version=2,
    size=12345,
    stored_at=NOW,
    stage=Stage.AVAILABLE,
    available_from=NOW,
    from_event="opening of test",
    available_until=None,
    until_event="closing of test",
    sha256="ab" * 32,
    earlier=(EarlierVersion(1, "cd" * 32, 12, NOW),),
    address="/challenges/VOC2007/data/3",
)
COMING = replace(
    FILE, id=4, sha256=None, earlier=(), address=None, reason=EVIL, stage=Stage.COMING, available_from=None,
    available_until=NOW + timedelta(days=1), until_event="", annotation_licence="", image_set=None,
)  # fmt: skip
OVER = replace(COMING, id=5, stage=Stage.OVER, from_event="")

GENERATED = (
    GeneratedFile("images.txt", EVIL, "/x", GeneratedKind.LIST, 12),
    GeneratedFile(EVIL, EVIL, "/x", GeneratedKind.EXAMPLE, task=EVIL, competition=3, track="given data"),
    GeneratedFile(EVIL, EVIL, "/x", GeneratedKind.EXAMPLE, task=EVIL, competition=4),
)
PHASE_FILES = PhaseFiles(
    EVIL, 12, GENERATED, (Snippet("detection", EVIL, EVIL, EVIL),), "/pictures/a/b",
    1024, Limits(), ImageArchive(EVIL, 12345, "ab" * 32, "/x"),
)  # fmt: skip
MADE = MadeArchive(EVIL, 12345, Audience.TERMS, EVIL, "ab" * 32, "/x")
PHASE_FILES = replace(PHASE_FILES, annotation=MADE)
WITHHELD = replace(PHASE_FILES, gallery=None, archive=ImageArchive(EVIL, 12345, reason=EVIL))
MISSING = (NotOffered("images", EVIL), NotOffered("annotation", EVIL))
BARE = replace(PHASE_FILES, image_set="val", archive=None, annotation=None, not_offered=MISSING)
STATISTICS = StatisticsTable(
    ("val", EVIL), (10, 20), ((EVIL, (ObjectCount(3, 4, 5), None)),), (ObjectCount(3, 4, 4), None)
)


def of_data() -> Iterator[tuple[str, dict[str, Any]]]:
    page = DataPage(
        "VOC2007",
        EVIL,
        has_terms=True,
        files=(FILE, COMING, OVER),
        phases=(PHASE_FILES, WITHHELD, BARE),
        statistics=STATISTICS,
        is_organiser=True,
    )
    yield "data/data.html", {"page": page, "phases": (PHASE, VAL)}
    for licensed in (replace(page, image_licence=EVIL), replace(page, annotation_licence=EVIL)):
        yield "data/data.html", {"page": licensed, "phases": (PHASE, VAL)}
    for kit in (MADE, replace(MADE, sha256=None, address=None, reason=EVIL)):
        yield "data/data.html", {"page": replace(page, kit=kit), "phases": (PHASE, VAL)}
    for said in ("here", "files", "elsewhere"):
        pictures = ParticipantsPictures(pictures_from=said, pictures_address="https://pictures.example/")
        yield "data/data.html", {"page": replace(page, pictures=pictures), "phases": (PHASE, VAL)}
    yield (
        "data/data.html",
        {
            "page": replace(page, files=(), phases=(), statistics=None, has_terms=False, is_organiser=False),
            "phases": (),
        },
    )
    choices = {"kinds": tuple(FileKind), "audiences": tuple(Audience)}
    unsent = replace(COMING, version=0, size=None)
    events, sets = ("opening of test", "closing of test"), ("test",)
    files = OrganisedFiles("VOC2007", EVIL, (FILE, unsent), events, sets, 12345, 678, 99999)
    form = {"name": EVIL, "kind": "code", "from_event": "opening of test"}
    problems = {"name": EVIL, "file": EVIL, "": EVIL, "kind": EVIL}
    yield "data/organise.html", {"page": files, "form": form, "problems": problems, **choices}
    yield (
        "data/organise.html",
        {"page": replace(files, files=(), in_archives=0), "form": {}, "problems": {}, **choices},
    )
    seen = LoggedDownload(7, EVIL, 2, EVIL, 9, 1, 3, NOW, NOW)
    log = DownloadLog((seen, replace(seen, person=None, person_id=None, terms_version=None)), 6)
    upload = DataUploadView(uuid.UUID(int=7), 3, "VOC2007", 12345, 678, None, NOW)
    file = OrganisedFile(
        "VOC2007", EVIL, FILE, is_deleted=False, events=events, image_sets=sets, log=log, uploads=(upload,)
    )
    yield "data/file.html", {"page": file, "form": form, "problems": problems, **choices}
    bare = replace(file, file=unsent, log=DownloadLog(), uploads=())
    yield "data/file.html", {"page": bare, "form": {}, "problems": {}, **choices}
    yield "data/file.html", {"page": replace(bare, is_deleted=True), "form": {}, "problems": {}, **choices}
