"""HTML pages: news and rules of a challenge, news feeds, and the forms in which organisers write announcements."""

from collections.abc import Mapping
from typing import Any, Final

from fastapi import APIRouter, Request
from fastapi.responses import RedirectResponse, Response
from pydantic import ValidationError

from app.challenges import atom, news
from app.challenges import rules as challenge_rules
from app.challenges.news import AnswersBefore, NewAnnouncement
from app.challenges.tabs import organise_tab
from app.core.access import Action
from app.core.caching import Rendered, conditional_response
from app.core.errors import ConflictError
from app.core.paging import Before
from app.core.rate_limits import Limited
from app.platform import Platform
from app.web.dependencies import CurrentActor, ThePlatform, limited, render, render_shared, requires
from app.web.forms import SentForm, field_errors, values_of
from app.web.markdown import foreign_images

router = APIRouter()
reading: Final = [requires(Action.READ_PUBLIC)]
organising: Final = [requires(Action.ORGANISE)]
writing: Final = [
    *organising,
    limited(Limited.CHANGE),
]  # and previews, as long Markdown takes most of a second
EMPTY: Final = {"title": "", "text": "", "version": 0}


@router.get("/challenges/{challenge}/rules", dependencies=reading)
def rules(request: Request, platform: ThePlatform, challenge: str) -> Response:
    """Show the rules of a challenge."""
    return render_shared(
        request,
        "texts/rules.html",
        challenge,
        lambda: {"view": challenge_rules.rules_page(platform, challenge)},
        lambda actor: organise_tab(platform, actor, challenge),
    )


@router.get("/challenges/{challenge}/news", dependencies=reading)
def challenge_news(
    request: Request,
    platform: ThePlatform,
    challenge: str,
    before: Before = None,
    answers_before: AnswersBefore = None,
) -> Response:
    """Show the news of a challenge."""
    return render_shared(
        request,
        "texts/news.html",
        (challenge, before, answers_before),
        lambda: {"news": news.news_page(platform, challenge, before, answers_before)},
        lambda actor: organise_tab(platform, actor, challenge),
    )


@router.get("/news.atom", dependencies=reading)
def feed_of_all(request: Request, platform: ThePlatform) -> Response:
    """Serve the news of all challenges as a feed."""
    return _feed(request, platform, None)


@router.get("/challenges/{challenge}/news.atom", dependencies=reading)
def feed_of_challenge(request: Request, platform: ThePlatform, challenge: str) -> Response:
    """Serve the news of a challenge as a feed."""
    return _feed(request, platform, challenge)


def _feed(request: Request, platform: Platform, challenge: str | None) -> Response:
    def write() -> Rendered:
        found = news.feed(platform, challenge)
        path = f"/challenges/{challenge}/news.atom" if challenge is not None else "/news.atom"
        return Rendered.of(
            atom.atom(found, platform.site().name, platform.settings.address.rstrip("/"), path)
        )

    rendered = platform.cache.version(("news.atom", challenge), write)
    return conditional_response(request, rendered, atom.MEDIA_TYPE, is_private=False)


@router.get("/organise/challenges/{challenge}/news", dependencies=organising)
def news_form(
    request: Request, platform: ThePlatform, actor: CurrentActor, challenge: str, before: Before = None
) -> Response:
    """List the announcements of a challenge, with a form for a new one."""
    return _list(request, platform, actor, challenge, EMPTY, before=before)


@router.post("/organise/challenges/{challenge}/news", dependencies=writing)
def publish(
    request: Request, platform: ThePlatform, actor: CurrentActor, challenge: str, sent: SentForm
) -> Response:
    """Publish an announcement, or show a preview of it."""
    form = values_of(sent, NewAnnouncement) | {"version": 0}
    try:
        new = NewAnnouncement.model_validate(form)
        if sent.get("preview"):
            return _list(request, platform, actor, challenge, form, preview=new)
        announcement_id = news.publish(platform, actor, challenge, new)
    except ValidationError as error:
        return _list(request, platform, actor, challenge, form, problems=field_errors(error))
    return _saved(challenge, announcement_id, new, f"/challenges/{challenge}/news")


def _saved(challenge: str, announcement_id: int, new: NewAnnouncement, page: str) -> Response:
    """Go on to this page, or to the form, which says that images are not shown."""
    form = f"/organise/challenges/{challenge}/news/{announcement_id}"
    return RedirectResponse(form if foreign_images([new.text], challenge) else page, status_code=303)


def _list(
    request: Request,
    platform: Platform,
    actor: CurrentActor,
    challenge: str,
    form: Mapping[str, Any],
    *,
    problems: Mapping[str, str] | None = None,
    preview: NewAnnouncement | None = None,
    before: int | None = None,
) -> Response:
    return render(
        request,
        "texts/write_news.html",
        code=422 if problems else 200,
        news=news.editable_news(platform, actor, challenge, before),
        form=form,
        problems=problems or {},
        preview=preview,
    )


@router.get("/organise/challenges/{challenge}/news/{announcement_id}", dependencies=organising)
def announcement_form(
    request: Request, platform: ThePlatform, actor: CurrentActor, challenge: str, announcement_id: int
) -> Response:
    """Show the form that changes an announcement."""
    return _edit(request, platform, actor, challenge, announcement_id, None)


@router.post("/organise/challenges/{challenge}/news/{announcement_id}", dependencies=writing)
def edit(
    request: Request,
    platform: ThePlatform,
    actor: CurrentActor,
    challenge: str,
    announcement_id: int,
    sent: SentForm,
) -> Response:
    """Change an announcement, or show a preview of it."""
    form = values_of(sent, NewAnnouncement)
    try:
        new = NewAnnouncement.model_validate(form)
        if sent.get("preview"):
            return _edit(request, platform, actor, challenge, announcement_id, form, preview=new)
        news.edit(platform, actor, challenge, announcement_id, new)
    except ValidationError as error:
        problems = field_errors(error)
        return _edit(request, platform, actor, challenge, announcement_id, form, problems=problems)
    except ConflictError as error:
        return _edit(request, platform, actor, challenge, announcement_id, form, refused=str(error))
    return _saved(challenge, announcement_id, new, f"/challenges/{challenge}/news#news-{announcement_id}")


def _edit(
    request: Request,
    platform: Platform,
    actor: CurrentActor,
    challenge: str,
    announcement_id: int,
    form: Mapping[str, Any] | None,
    *,
    problems: Mapping[str, str] | None = None,
    preview: NewAnnouncement | None = None,
    refused: str = "",
) -> Response:
    stored = news.editable_announcement(platform, actor, challenge, announcement_id)
    now = {"title": stored.title, "text": stored.text, "version": stored.version}
    typed = dict(form) if form is not None else now
    if refused:
        typed["version"] = stored.version  # the next submission replaces what this page shows of theirs
    return render(
        request,
        "texts/edit_news.html",
        code=409 if refused else 422 if problems else 200,
        announcement=stored,
        form=typed,
        problems=problems or {},
        preview=preview,
        refused=refused,
        theirs={"title": stored.title, "text": stored.text} if refused else {},
    )


@router.post("/organise/challenges/{challenge}/news/{announcement_id}/delete", dependencies=organising)
def delete(platform: ThePlatform, actor: CurrentActor, challenge: str, announcement_id: int) -> Response:
    """Delete an announcement."""
    news.delete(platform, actor, challenge, announcement_id)
    return RedirectResponse(f"/organise/challenges/{challenge}/news", status_code=303)
