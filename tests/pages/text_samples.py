"""What organisers and admins write, with what the pages are rendered with."""

from collections.abc import Iterator
from typing import Any

from app.challenges.texts import FIELDS, NewTexts, TextSheet
from tests.pages.drawn import EVIL
from tests.pages.views import NOW


def of_texts() -> Iterator[tuple[str, dict[str, Any]]]:
    yield "texts/contact.html", {"challenge": "VOC2007", "title": EVIL, "contact": "a&b@example.org"}
    written = dict.fromkeys(FIELDS, EVIL)
    for sheet in (
        TextSheet("VOC2007", EVIL, 0),
        TextSheet("VOC2007", EVIL, 2, **written, changed_at=NOW, changed_by=EVIL),
        TextSheet("VOC2007", EVIL, 2, **written, changed_at=NOW),
    ):
        form = {name: getattr(sheet, name) for name in NewTexts.model_fields}
        page = {"sheet": sheet, "form": form, "problems": {}, "preview": None, "refused": "", "theirs": {}}
        yield "texts/edit.html", page
        yield "texts/edit.html", page | {"problems": dict.fromkeys(FIELDS, EVIL)}
        yield "texts/edit.html", page | {"refused": EVIL, "theirs": {"overview": EVIL, "rules": ""}}
        new = NewTexts.model_construct(**written)
        yield "texts/edit.html", page | {"preview": new}
        yield "texts/edit.html", page | {"preview": NewTexts()}
