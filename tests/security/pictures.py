"""A picture with stored annotation and its archive, made without a worker."""

import zlib

from sqlalchemy import func
from sqlalchemy.orm import Session

from app.images.overlays import TRUTH
from app.images.packs import pack
from app.images.pictures import PICTURES
from app.models import Artefact, ImageMode, Picture, PictureBatch, PictureSource
from app.platform import Platform

NAME = "image"
JPEG = b"\xff\xd8\xff a picture"
ENTRY = zlib.compress(b'{"image": "image", "has_labels": true, "objects": []}')


def add_picture(session: Session, platform: Platform, phase_id: int, truth_id: int) -> None:
    """A phase's only picture, and its annotation with a label image."""
    archive = platform.files.put(JPEG)
    source = PictureSource(
        phase_id=phase_id, mode=ImageMode.LINK, folder="/nowhere", archive_key=archive, archive_size=len(JPEG)
    )
    session.add(source)
    session.flush()
    session.add(PictureBatch(phase_id=phase_id, number=0, fingerprint="of nothing", made="of nothing"))
    session.flush()
    session.add(Picture(phase_id=phase_id, position=0, batch=0, name=NAME, width=4, height=3))
    contents = {
        (PICTURES, f"{phase_id}/0"): pack([JPEG, JPEG]),
        (TRUTH, str(truth_id)): pack([ENTRY, b"labels"]),
    }
    for (kind, subject), stored in contents.items():
        session.add(
            Artefact(
                kind=kind,
                subject=subject,
                version="1",
                key=platform.artefacts.put(stored),
                media_type="application/octet-stream",
                size=len(stored),
                as_of=func.now(),
            )
        )
