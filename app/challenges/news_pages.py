"""HTML pages: news and rules of a challenge, news feeds, and the forms in which organisers write announcements."""

from collections.abc import Mapping
from typing import Annotated, Any, Final
from urllib.parse import quote

from fastapi import APIRouter, Query, Request
from fastapi.responses import RedirectResponse, Response

from app.challenges import announcing, asking, atom, news
from app.challenges import rules as challenge_rules
from app.challenges.announcing import AddressedAnnouncement, ReceivedBefore, Receivers, ToTeamsBefore, Written
from app.challenges.news import AnswersBefore, NewAnnouncement
from app.challenges.tabs import organise_tab
from app.core.access import Action, Actor
from app.core.caching import Rendered, conditional_response
from app.core.paging import Before, RowPage
from app.core.rate_limits import Limited
from app.models import MessageAudience
from app.platform import Platform
from app.web.dependencies import (
    CurrentActor,
    ThePlatform,
    limited,
    render,
    render_shared,
    render_template,
    requires,
)
from app.web.forms import Form, TheForm
from app.web.markdown import foreign_images
from app.web.route_marks import marked

router = APIRouter()
reading: Final = [requires(Action.READ_PUBLIC)]
organising: Final = [requires(Action.ORGANISE)]
# limits previews, too, because long Markdown takes most of a second to render
writing: Final = [*organising, limited(Limited.CHANGE)]
EMPTY: Final[Mapping[str, Any]] = {
    "title": "", "text": "", "version": 0, "audience": "", "image_set": "", "competition": "", "team": "",
}  # fmt: skip
# marks where the shared news page shows what the reader's team received
RECEIVED: Final = "<!-- received -->"

ToTeam = Annotated[str, Query(max_length=40, description="the name of the only team to write to")]


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
    received_before: ReceivedBefore = None,
) -> Response:
    """Show the news of a challenge, and on the first page what the reader's team received."""

    def own(actor: Actor) -> dict[str, str]:
        is_first = before is None and answers_before is None
        received = announcing.received(platform, actor, challenge, received_before) if is_first else RowPage()
        words = render_template("texts/received.html", challenge=challenge, page=received)
        return {**organise_tab(platform, actor, challenge), RECEIVED: words}

    return render_shared(
        request,
        "texts/news.html",
        (challenge, before, answers_before),
        lambda: {
            "news": news.news_page(platform, challenge, before, answers_before),
            "asking": asking.asking(platform, challenge),
        },
        own,
    )


@router.get("/teams/{team_id}/messages", dependencies=[requires(Action.READ_OWN)])
def moved(platform: ThePlatform, actor: CurrentActor, team_id: int) -> Response:
    """Redirect from the former page of what a team received, to which mails and notifications lead."""
    challenge = announcing.challenge_of_team(platform, actor, team_id)
    return RedirectResponse(f"/challenges/{quote(challenge)}/news", status_code=303)


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
    request: Request,
    platform: ThePlatform,
    actor: CurrentActor,
    challenge: str,
    before: Before = None,
    to_teams_before: ToTeamsBefore = None,
    team: ToTeam = "",
    *,
    sent: Annotated[bool, Query(description="the newest was just sent to teams")] = False,
) -> Response:
    """List the announcements of a challenge, with a form for a new one."""
    form = Form({"audience": MessageAudience.TEAM, "team": team} if team else {})
    page = announcing.written(platform, actor, challenge, before, to_teams_before, team)
    return _list(request, page, form, sent=sent)


@router.post("/organise/challenges/{challenge}/news", dependencies=writing)
def publish(
    request: Request, platform: ThePlatform, actor: CurrentActor, challenge: str, form: TheForm
) -> Response:
    """Publish an announcement or send it to teams, or show a preview of it with who would receive it."""

    def page() -> Written:
        return announcing.written(platform, actor, challenge, team=form.text("team"))

    with form.showing_errors():
        new = form.read(AddressedAnnouncement, version=0)
        if form.text("preview"):
            receivers = announcing.preview(platform, actor, challenge, new)
            return _list(request, page(), form, preview=new, receivers=receivers)
        announced = announcing.publish(platform, actor, challenge, new)
        if not announced.is_public:
            return RedirectResponse(
                f"/organise/challenges/{quote(challenge)}/news?sent=true", status_code=303
            )
        return _saved(challenge, announced.id, new, f"/challenges/{challenge}/news")
    return _list(request, page(), form)


def _saved(challenge: str, announcement_id: int, new: NewAnnouncement, page: str) -> Response:
    """Go on to this page, or to the form, which says that images are not shown."""
    form = f"/organise/challenges/{challenge}/news/{announcement_id}"
    return RedirectResponse(form if foreign_images([new.text], challenge) else page, status_code=303)


def _list(
    request: Request,
    page: Written,
    form: Form,
    *,
    preview: NewAnnouncement | None = None,
    receivers: Receivers | None = None,
    sent: bool = False,
) -> Response:
    return render(
        request,
        "texts/write_news.html",
        page=page,
        form=form.fill(EMPTY),
        preview=preview,
        receivers=receivers,
        sent=sent,
    )


@router.get("/organise/challenges/{challenge}/news/{announcement_id}", dependencies=organising)
def announcement_form(
    request: Request, platform: ThePlatform, actor: CurrentActor, challenge: str, announcement_id: int
) -> Response:
    """Show the form that changes an announcement."""
    return _edit(request, platform, actor, challenge, announcement_id, None)


@router.post("/organise/challenges/{challenge}/news/{announcement_id}", dependencies=writing)
@marked(done="The announcement is changed.")
def edit(
    request: Request,
    platform: ThePlatform,
    actor: CurrentActor,
    challenge: str,
    announcement_id: int,
    form: TheForm,
) -> Response:
    """Change an announcement, or show a preview of it."""
    with form.showing_errors():
        new = form.read(NewAnnouncement)
        if form.text("preview"):
            return _edit(request, platform, actor, challenge, announcement_id, form, preview=new)
        news.edit(platform, actor, challenge, announcement_id, new)
        return _saved(challenge, announcement_id, new, f"/challenges/{challenge}/news#news-{announcement_id}")
    return _edit(request, platform, actor, challenge, announcement_id, form)


def _edit(
    request: Request,
    platform: Platform,
    actor: Actor,
    challenge: str,
    announcement_id: int,
    form: Form | None,
    *,
    preview: NewAnnouncement | None = None,
) -> Response:
    stored = news.editable_announcement(platform, actor, challenge, announcement_id)
    now = {"title": stored.title, "text": stored.text}
    form = form or Form({**now, "version": stored.version})
    if form.refused:
        form.values["version"] = stored.version  # the next submission replaces what this page shows of theirs
    return render(
        request,
        "texts/edit_news.html",
        announcement=stored,
        form=form,
        preview=preview,
        theirs=now if form.refused else {},
    )


@router.post("/organise/challenges/{challenge}/news/{announcement_id}/delete", dependencies=organising)
@marked(done="The announcement is deleted.")
def delete(platform: ThePlatform, actor: CurrentActor, challenge: str, announcement_id: int) -> Response:
    """Delete an announcement."""
    news.delete(platform, actor, challenge, announcement_id)
    return RedirectResponse(f"/organise/challenges/{challenge}/news", status_code=303)
