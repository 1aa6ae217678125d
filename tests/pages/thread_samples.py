"""Questions to organisers, with what the pages are rendered with."""

import uuid
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from app.challenges.answers import AnswerSheet, AnswerView, NewAnswer
from app.challenges.asking import Asking
from app.core.paging import RowPage
from app.models import AskingPlace, ThreadState
from app.notifications.threads import (
    AskPage,
    MessageView,
    OrganisedThreads,
    ThreadObject,
    ThreadRow,
    ThreadView,
)
from tests.pages.drawn import EVIL
from tests.pages.views import NOW

FORUM = Asking(AskingPlace.FORUM, "https://forum.example/voc?a=1&b=2")
ABOUT_UPLOAD = ThreadObject("test", upload=uuid.UUID(int=5), filename=EVIL)
ABOUT_SUBMISSION = ThreadObject("test", submission=12, method=EVIL)
THREAD = ThreadRow(
    7, "VOC2007", EVIL, EVIL, ThreadState.OPEN, 3, EVIL, EVIL, ABOUT_UPLOAD, NOW, 70, NOW, is_published=False
)
OF_A_PERSON = replace(
    THREAD,
    id=8,
    team_id=None,
    team=None,
    about=ABOUT_SUBMISSION,
    state=ThreadState.ANSWERED,
    is_published=True,
)
CLOSED = replace(THREAD, id=9, about=ThreadObject("val"), state=ThreadState.CLOSED)
ABOUT_NOTHING = replace(THREAD, id=10, about=None)
ROWS = (THREAD, OF_A_PERSON, CLOSED, ABOUT_NOTHING)
MESSAGES = (
    MessageView(69, EVIL, False, f"# {EVIL}\n\n[here](https://example.org)", NOW),
    MessageView(70, EVIL, True, EVIL, NOW),
)
ANSWER = AnswerView(5, uuid.UUID(int=9), "VOC2007", EVIL, 2, EVIL, f"# {EVIL}", EVIL, NOW, NOW)
SHEET = AnswerSheet(7, EVIL, "VOC2007", EVIL, EVIL, EVIL, EVIL, ANSWER)


def of_threads() -> Iterator[tuple[str, dict[str, Any]]]:
    typed = {"title": EVIL, "text": EVIL, "upload": "x", "submission": "", "image_set": ""}
    for asking in (Asking(), FORUM, Asking(AskingPlace.NOWHERE)):
        page = AskPage("VOC2007", EVIL, asking, EVIL, ABOUT_UPLOAD, ROWS, (EVIL,))
        yield "threads/ask.html", {"page": page, "form": typed, "problems": {"title": EVIL, "text": EVIL}}
    nothing = AskPage("VOC2007", EVIL, Asking(), None, None, (), ())
    yield "threads/ask.html", {"page": nothing, "form": {"title": "", "text": ""}, "problems": {}}
    yield "threads/mine.html", {"page": RowPage(ROWS, 7), "is_first": True}
    for is_first in (True, False):
        yield "threads/mine.html", {"page": RowPage(), "is_first": is_first}
    for thread in ROWS:
        for is_ours, is_organised in ((True, False), (False, True), (True, True)):
            view = ThreadView(thread, MESSAGES, 7, is_ours, is_organised)
            page_of_thread = {"view": view, "form": {"seen": 70}, "problems": {}, "refused": ()}
            yield "threads/thread.html", page_of_thread
            wrong = {"form": {"seen": 70, "text": EVIL}, "problems": {"text": EVIL}, "refused": (EVIL,)}
            yield "threads/thread.html", page_of_thread | wrong
    empty = {
        "view": ThreadView(THREAD, (), None, True, False),
        "form": {"seen": 70},
        "problems": {},
        "refused": (),
    }
    yield "threads/thread.html", empty
    states = tuple(ThreadState)
    for state, rows, is_first in ((None, ROWS, True), (ThreadState.OPEN, (), True), (None, (), False)):
        organised = OrganisedThreads("VOC2007", EVIL, FORUM, 12, rows, 7 if rows else None)
        listed = {"page": organised, "state": state, "states": states, "is_first": is_first}
        form: dict[str, Any] = {"place": AskingPlace.HERE, "forum": EVIL}
        yield "threads/organised.html", listed | {"form": form, "problems": {"forum": EVIL} if rows else {}}
    form = {"title": EVIL, "question": EVIL, "answer": EVIL, "version": 2, "names_may_stay": False}
    publish = {"form": form, "problems": {}, "preview": None, "refused": (), "theirs": {}}
    for sheet in (SHEET, replace(SHEET, published=None)):
        yield "threads/publish.html", publish | {"sheet": sheet}
        wrong = {
            "problems": {"names_may_stay": EVIL, "title": EVIL},
            "refused": (EVIL,),
            "theirs": {"title": EVIL},
        }
        yield "threads/publish.html", publish | wrong | {"sheet": sheet}
        preview = NewAnswer(title=EVIL, question=EVIL, answer=EVIL)
        yield "threads/publish.html", publish | {"sheet": sheet, "preview": preview}
