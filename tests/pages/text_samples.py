"""What organisers and admins write, with what the pages are rendered with."""

import uuid
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import heldout_scoring
from app.challenges.announcing import AddressedAnnouncement, AudienceChoices, Receivers, Written, WrittenView
from app.challenges.asking import Asking
from app.challenges.news import AnnouncementView, NewAnnouncement, NewsView, ReceivedView
from app.challenges.news_pages import EMPTY
from app.challenges.rules import RulesOfPhase, RulesView, rules_of
from app.challenges.texts import FIELDS, NewTexts, TextSheet
from app.challenges.visibility import (
    CreatedCode,
    InvitationView,
    InvitedPersonView,
    OfferedChallenge,
    TeamOfPerson,
    VisibilityView,
)
from app.core.paging import RowPage
from app.core.settings import Registration
from app.core.site import FooterLink
from app.jobs.mail import MailLocation
from app.models import ChallengeVisibility, CreationRule, Quota
from app.operations.settings_view import SettingGroup, SettingsView, SettingView
from app.operations.site import FIELDS as SITE_FIELDS
from app.operations.site import NewSite, SiteSheet, as_plain
from app.operations.trial_mail import TrialMail
from app.organising.creating import Creator, CreatorsView, OwnRequest, RequestView
from app.people.team_choice import TeamChoice
from app.submissions.quotas import Holder, QuotaLine, QuotaUse
from heldout_scoring import Limits
from tests.pages.drawn import EVIL
from tests.pages.thread_samples import ANSWER
from tests.pages.views import NOW, PHASE, VAL

QUOTA_LINE = QuotaLine("detection", 1, NOW, (QuotaUse(Holder.TEAM, Quota(2, 7), 1, NOW),), 1)
WRITTEN = AnnouncementView(
    7, uuid.UUID(int=7), "VOC2007", EVIL, 2, EVIL, f"# {EVIL}", NOW, NOW, is_automatic=False
)
AUTOMATIC = replace(WRITTEN, id=8, edited_at=None, is_automatic=True)


def of_texts() -> Iterator[tuple[str, dict[str, Any]]]:
    yield "texts/contact.html", {"challenge": "VOC2007", "title": EVIL, "contact": "a&b@example.org"}
    written = dict.fromkeys(FIELDS, EVIL)
    for sheet in (
        TextSheet("VOC2007", EVIL, 0),
        TextSheet("VOC2007", EVIL, 2, **written, changed_at=NOW, changed_by=EVIL),
        TextSheet("VOC2007", EVIL, 2, **written, changed_at=NOW),
    ):
        form = {name: getattr(sheet, name) for name in NewTexts.model_fields}
        page = {"sheet": sheet, "form": form, "problems": {}, "preview": None, "refused": (), "theirs": {}}
        yield "texts/edit.html", page
        yield "texts/edit.html", page | {"problems": dict.fromkeys(FIELDS, EVIL)}
        yield "texts/edit.html", page | {"refused": (EVIL,), "theirs": {"overview": EVIL, "rules": ""}}
        new = NewTexts(overview=EVIL, rules=EVIL, organisers=EVIL, tagline=EVIL)
        yield "texts/edit.html", page | {"preview": new}
        yield "texts/edit.html", page | {"preview": NewTexts()}
    announced = NewAnnouncement(title=EVIL, text=EVIL)
    phases = tuple(
        RulesOfPhase(each, rules_of(each, approves_teams=True), 1024, Limits()) for each in (PHASE, VAL)
    )
    yield "texts/rules.html", {"view": RulesView("VOC2007", EVIL, phases, f"# {EVIL}", EVIL, 3)}
    yield "texts/rules.html", {"view": RulesView("VOC2007", EVIL, (), "", None, None)}
    for news in (
        NewsView("VOC2007", EVIL, (WRITTEN, AUTOMATIC), 7),
        NewsView(
            "VOC2007",
            EVIL,
            (WRITTEN,),
            None,
            answers=(ANSWER, replace(ANSWER, id=6, edited_at=None)),
            next_answers=5,
        ),
        NewsView("VOC2007", EVIL, (), None),
    ):
        yield "texts/news.html", {"news": news, "asking": Asking()}
    yield from _of_announcing()
    typed, wrong = {"title": EVIL, "text": EVIL, "version": 1}, {"title": EVIL, "text": EVIL}
    edit = {
        "announcement": WRITTEN,
        "form": typed,
        "problems": {},
        "preview": None,
        "refused": (),
        "theirs": {},
    }
    yield "texts/edit_news.html", edit
    yield "texts/edit_news.html", edit | {"problems": wrong, "refused": (EVIL,), "theirs": wrong}
    yield "texts/edit_news.html", edit | {"preview": announced}
    yield from of_the_site()


def _of_announcing() -> Iterator[tuple[str, dict[str, Any]]]:
    announced = AddressedAnnouncement(title=EVIL, text=EVIL)
    choices = AudienceChoices((PHASE, VAL), heldout_scoring.competitions("VOC2007"), TeamChoice((EVIL,)))
    public = WrittenView(1, True, EVIL, EVIL, "Everybody", NOW, NOW)
    to_teams = WrittenView(
        2, False, EVIL, f"# {EVIL}", EVIL, NOW, NOW, created_by=EVIL, teams=1200, people=3000
    )
    rows = (public, replace(public, id=3, is_automatic=True), to_teams, replace(to_teams, id=4, sent_at=None))
    written = Written("VOC2007", EVIL, choices, rows, has_more=True, next=1, next_to_teams=2)
    nothing = replace(
        written,
        announcements=(),
        has_more=False,
        next=None,
        next_to_teams=None,
        choices=AudienceChoices((), (), TeamChoice()),
    )
    usual: dict[str, Any] = {"problems": {}, "refused": (), "preview": None, "receivers": None, "sent": False}
    typed = {**EMPTY, "title": EVIL, "text": EVIL, "audience": "one team", "team": EVIL}
    wrong = dict.fromkeys(("audience", "image_set", "competition", "team", "title", "text"), EVIL)
    for page in (written, nothing, replace(written, next=None)):
        yield "texts/write_news.html", {**usual, "page": page, "form": EMPTY, "sent": True}
        yield "texts/write_news.html", {**usual, "page": page, "form": typed, "problems": wrong}
        yield "texts/write_news.html", {**usual, "page": page, "form": typed, "refused": (EVIL,)}
        shown = {**usual, "page": page, "form": typed, "preview": announced}
        yield "texts/write_news.html", shown
        for receivers in (Receivers(EVIL, 12, 30, (EVIL, "Fern"), ""), Receivers(EVIL, 0, 0, (), EVIL)):
            yield "texts/write_news.html", {**shown, "receivers": receivers}
    received = tuple(ReceivedView(number, number, EVIL, f"# {EVIL}", NOW) for number in (7, 8))
    for rows_of_team in (RowPage(received, 7), RowPage(received)):
        yield "texts/received.html", {"challenge": "VOC2007", "page": rows_of_team}


def of_the_site() -> Iterator[tuple[str, dict[str, Any]]]:
    yield "site/legal.html", {"title": "Imprint", "text": f"# {EVIL}"}
    yield "site/contact.html", {"contact": ""}
    yield "site/contact.html", {"contact": "a&b@example.org"}
    links = (FooterLink(EVIL, "https://example.org"),)
    for sheet in (SiteSheet(), SiteSheet(2, EVIL, "#2456d6", "a@example.org", links, EVIL, EVIL, "abc")):
        form = as_plain(sheet)
        page = {"sheet": sheet, "form": form, "problems": {}, "preview": None, "refused": (), "theirs": {}}
        page["registration_is_fixed"] = not sheet.version
        yield "site/settings.html", page
        yield "site/settings.html", page | {"problems": dict.fromkeys((*SITE_FIELDS, "logo"), EVIL)}
        yield "site/settings.html", page | {"refused": (EVIL,), "theirs": {"imprint": EVIL, "privacy": ""}}
        yield "site/settings.html", page | {"preview": NewSite(name="Oak", imprint=EVIL, privacy=EVIL)}


def of_visibility() -> Iterator[tuple[str, dict[str, Any]]]:
    invitations = (
        InvitationView(1, "address", EVIL, None, 0, NOW),
        InvitationView(2, "domain", EVIL, None, 0, NOW),
        InvitationView(3, "code", EVIL, None, 3, NOW),
        InvitationView(4, "code", EVIL, 1200, 0, NOW),
    )
    person = InvitedPersonView(7, EVIL, EVIL, EVIL, NOW, None)
    team = TeamOfPerson(3, EVIL, EVIL)
    people = (person, replace(person, team=team))
    page = "visibility/visibility.html"
    choices = [each for each in ChallengeVisibility if each is not ChallengeVisibility.DRAFT]
    empty: dict[str, Any] = {"choices": choices, "form": {}, "problems": {}, "created": None}
    for each in ChallengeVisibility:
        yield page, {"page": VisibilityView("VOC2007", EVIL, each, None, False, (), ()), **empty}
    full = VisibilityView("VOC2007", EVIL, ChallengeVisibility.INVITED, NOW, True, invitations, people, team)
    names = ("visibility", "people", "note", "uses")
    wrong = {"form": dict.fromkeys(names, EVIL), "problems": dict.fromkeys(names, EVIL)}
    yield page, {"page": full, **empty, **wrong}
    yield page, {"page": full, **empty, "created": CreatedCode(7, EVIL, EVIL)}
    yield "visibility/invited.html", {"offer": None, "secret": EVIL}
    yield "visibility/invited.html", {"offer": OfferedChallenge("VOC2007", EVIL, EVIL), "secret": EVIL}


def of_setup() -> Iterator[tuple[str, dict[str, Any]]]:
    for form, problems in (({}, {}), (dict.fromkeys(BASICS, EVIL), dict.fromkeys(BASICS, EVIL))):
        typed: dict[str, Any] = {"form": form, "problems": problems}
        yield "setup/code.html", typed
        yield "setup/account.html", typed
        for trial in trials():
            yield "setup/server.html", {**typed, "trial": trial}
    yield "setup/over.html", {}
    yield "setup/done.html", {"sample": None}
    yield "setup/done.html", {"sample": "sample"}


BASICS = ("name", "tagline", "contact", "code", "email", "password")


def trials() -> Iterator[TrialMail]:
    here = MailLocation(is_sent=False, folder=EVIL)
    trial = TrialMail("ash@example.org", None, is_waiting=False, error=None, place=here, lacks=(EVIL,))
    yield trial
    yield replace(trial, asked_at=NOW)
    yield replace(trial, asked_at=NOW, place=MailLocation(is_sent=True), lacks=())
    yield replace(trial, asked_at=NOW, is_waiting=True)
    yield replace(trial, asked_at=NOW, is_waiting=True, error=EVIL)


def of_creating() -> Iterator[tuple[str, dict[str, Any]]]:
    asked = RequestView(7, 8, EVIL, EVIL, EVIL, NOW, None, None, "")
    refused = replace(asked, decided_at=NOW, is_approved=False, reason=EVIL)
    wrong = {"form": {"email": EVIL, "reason-7": EVIL}, "problems": {"email": EVIL, "reason-7": EVIL}}
    for rule in CreationRule:
        yield "creating/creators.html", {"page": CreatorsView(rule, (), (), ()), "form": {}, "problems": {}}
    creators = (Creator(8, EVIL, EVIL, NOW),)
    page = CreatorsView(
        CreationRule.APPROVAL, creators, (asked,), (refused, replace(refused, is_approved=True))
    )
    yield "creating/creators.html", {"page": page, **wrong}
    for own in (
        OwnRequest(CreationRule.ADMINS, may_create=True, can_ask=False, last=None),
        OwnRequest(CreationRule.ADMINS, may_create=False, can_ask=False, last=None),
        OwnRequest(CreationRule.APPROVAL, may_create=False, can_ask=False, last=asked),
        OwnRequest(CreationRule.APPROVAL, may_create=False, can_ask=True, last=refused),
    ):
        yield "creating/own.html", {"own": own, "form": {}, "problems": {}}
        yield "creating/own.html", {"own": own, "form": {"sentence": EVIL}, "problems": {"sentence": EVIL}}


def of_settings() -> Iterator[tuple[str, dict[str, Any]]]:
    group = SettingGroup(
        EVIL, (SettingView(EVIL, EVIL, EVIL, is_fixed=True), SettingView("A", "", "", is_fixed=False))
    )
    written = SiteSheet(1, EVIL, EVIL, EVIL, (), EVIL, EVIL, "x", EVIL, CreationRule.APPROVAL)
    for trial in trials():
        yield (
            "site/all.html",
            {
                "view": SettingsView(SiteSheet(), Registration.OPEN, False, (group,)),
                "groups": (group,),
                "query": "",
                "trial": trial,
            },
        )
    yield (
        "site/all.html",
        {
            "view": SettingsView(written, Registration.CLOSED, True, (group,)),
            "groups": (),
            "query": EVIL,
            "trial": trial,
        },
    )
