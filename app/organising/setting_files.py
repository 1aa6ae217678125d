"""Challenges as files: exporting one, creating a draft from one, comparing and changing a challenge by one, copying a challenge.

A change is made by the operations of the pages, each in a transaction of its own; what one of them refuses stays as it is and is told.
"""

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from pydantic import BaseModel
from sqlalchemy.orm import Session

from app.challenges import challenges, pictures_from, terms, texts, visibility
from app.challenges.challenges import PhaseView, description_of
from app.challenges.terms import NewTerms
from app.challenges.texts import LongTexts, NewTexts
from app.challenges.visibility import NewVisibility
from app.core import audit
from app.core.access import Actor, require_challenge
from app.core.errors import (
    ConflictError,
    DomainError,
    MalformedError,
    NotFoundError,
    RefusedError,
)
from app.core.plain_yaml import Document, Path
from app.intake import intakes, keys
from app.intake.intakes import IntakeView
from app.intake.reports import ClassChoice
from app.models import Challenge, ChallengeDraft, ChallengeVisibility, Disclosure, Intake, in_order
from app.organising import approvals, challenge_file, disclosing, draft_rules, drafts, phases, questions
from app.organising.approvals import ApprovalRule
from app.organising.challenge_file import (
    ChallengeSettings,
    ClassSetting,
    RulesSettings,
    ScoringSettings,
    SettingDifference,
)
from app.organising.disclosing import NewDisclosure
from app.organising.draft_rules import (
    Answers,
    OthersRows,
    OwnScores,
    PhaseChoice,
    ScoringChoice,
    SharedRules,
    Step,
    Template,
    TermsChoice,
    Tracks,
    What,
)
from app.organising.phases import NewQuota, NewRules
from app.organising.questions import DescriptionRule
from app.organising.settings import NewSettings
from app.organising.settings import change as change_settings
from app.platform import Platform
from app.storage import Storage
from app.submissions.questions import NewQuestion, QuestionView, questions_of
from app.web.zones import Moment

REASON: Final = "by a file of settings"
FIXED: Final = ("template", "tasks", "tracks", "classes", "scoring.protocol")
STAYS: Final = "stays as it is once a challenge is open"
UNUSED: Final = (
    "no phase follows it, because each has rules of its own, or somebody else has changed it meanwhile"
)
NO_EFFECT: Final = "nothing follows from it here, or somebody else has changed it meanwhile"
TAKEN: Final = "is taken; choose another address"
OF_PHASES: Final = (
    "scoring", "phases", "rules.opens_at", "rules.closes_at", "rules.per_day", "rules.per_week", "rules.total",
)  # fmt: skip
LARGEST_QUOTAS: Final = {
    "per_day": (1, 1000),
    "per_week": (7, 1000),
    "total": (None, 100_000),
}  # as step 5 takes them


class NewCopy(BaseModel):
    """The title, address and dates of a copy."""

    model_config = draft_rules.FROZEN

    title: draft_rules.Title
    code: draft_rules.Code
    opens_at: Moment | None = None
    closes_at: Moment | None = None


@dataclass(frozen=True, slots=True)
class FileOutcome:
    """What became of a file. is_applied: whether the challenge is as it says, or was changed by it.

    differences: what the challenge still has otherwise; releases: phases whose annotation would be public.
    """

    code: str
    title: str
    is_new: bool = False
    is_applied: bool = False
    differences: tuple[SettingDifference, ...] = ()
    releases: tuple[str, ...] = ()

    @property
    def seen(self) -> str:
        """Tells these differences from others, so that nobody confirms what they have not seen."""
        return hashlib.sha256(repr(self.differences).encode()).hexdigest()

    @property
    def can_change(self) -> bool:
        """Whether applying the file changes anything."""
        return any(not each.refusal for each in self.differences)


# exporting


def exported(platform: Platform, actor: Actor, code: str) -> ChallengeSettings:
    """Return the settings of a challenge. Raises NotFoundError, ForbiddenError."""
    with platform.snapshot() as session:
        return settings_of(session, require_challenge(session, actor, code), platform.descriptions)


def settings_of(session: Session, challenge: Challenge, descriptions: Storage) -> ChallengeSettings:
    """Return what is decided about a challenge: by the steps of a draft, by the phases and pages of one that is open."""
    row = session.get(ChallengeDraft, challenge.id)
    answers = drafts.answers_of(row.settings) if row else Answers()
    found = challenges.phases_of(session, challenge.code)
    sheet = texts.sheet_of(session, challenge)
    stated = terms.newest_terms(session, challenge.code, None)
    what = answers.what.model_dump() if answers.what else _what_of(found)
    scoring, own = answers.scoring, answers.phases
    rules: SharedRules | None = answers.rules
    if challenge.visibility is not ChallengeVisibility.DRAFT:
        scoring, decided, own = _decided(found, answers)
        rules = decided.model_copy(update={"visibility": challenge.visibility})
    if rules is not None:
        rules = rules.model_copy(
            update={
                "approves_teams": challenge.approves_teams,
                "most_members": challenge.most_members,
                "image_licence": challenge.image_licence,
                "annotation_licence": challenge.annotation_licence,
                **_terms_of(answers.rules, challenge.title, stated.text if stated else ""),
            }
        )
    return ChallengeSettings.model_construct(
        **what | {"title": challenge.title, "code": challenge.code, "tagline": sheet.tagline},
        classes=tuple(map(ClassSetting.of, _classes_of(session, challenge, found, descriptions))),
        scoring=ScoringSettings.model_construct(**scoring.model_dump()) if scoring else None,
        rules=_without_people(rules) if rules else None,
        phases=dict(own),
        texts=LongTexts.model_construct(**{name: getattr(sheet, name) for name in LongTexts.model_fields}),
        pictures=pictures_from.answer_of(challenge),
        questions=tuple(map(_asked, questions_of(session, challenge.id))),
        shortest_description=challenge.shortest_description,
    )


def _without_people(rules: SharedRules) -> RulesSettings:
    return RulesSettings.model_construct(**{name: getattr(rules, name) for name in SharedRules.model_fields})


def _asked(question: QuestionView) -> NewQuestion:
    return NewQuestion.model_construct(**{name: getattr(question, name) for name in NewQuestion.model_fields})


def _what_of(found: Sequence[PhaseView]) -> dict[str, Any]:
    """The first step of a challenge that was not made in steps."""
    offered = {each.number: each for phase in found for each in challenges.offered_competitions(phase)}
    tasks = tuple({draft_rules.kind_of(each.task): None for each in offered.values()})
    dataset = found[0].dataset if found else ""
    template = Template.COCO if dataset in ("COCO", "LVIS") else Template.VOC
    what = What.model_construct(title="", code="", template=template, tasks=tasks, tracks=Tracks.ONE)
    if found and set(offered) - set(draft_rules.competitions_of(dataset, what)):
        what = what.model_copy(update={"tracks": Tracks.TWO})
    return what.model_dump(warnings=False)


def _decided(
    found: Sequence[PhaseView], answers: Answers
) -> tuple[ScoringChoice | None, SharedRules, Mapping[str, PhaseChoice]]:
    """Scoring and rules as the steps would have them of the phase with hidden annotation, and the phases that have others."""
    main = next((each for each in found if each.is_held_out), found[0] if found else None)
    rules = SharedRules()
    if main is None:
        return answers.scoring, rules, {}
    own = {
        Disclosure.MEAN: OwnScores.MEAN,
        Disclosure.LADDER: OwnScores.MEAN,
        Disclosure.AT_CLOSE: OwnScores.NOTHING,
    }
    others = (
        OthersRows.AT_CLOSE if main.embargo else OthersRows.FROZEN if main.frozen_days else OthersRows.LIVE
    )
    scoring = ScoringChoice(
        protocol=main.protocol,
        own=own.get(main.disclosure, OwnScores.ALL),
        others=others,
        frozen_days=main.frozen_days or None,
        ladder=main.disclosure is Disclosure.LADDER,
        only_complete=main.only_complete,
        details_at_close=main.details_at_close,
    )
    windows = {each.days: each.results for each in main.rules.quotas}
    quotas = {
        name: windows[days]
        for name, (days, most) in LARGEST_QUOTAS.items()
        if windows.get(days, most + 1) <= most
    }
    rules = rules.model_copy(update={"opens_at": main.opens_at, "closes_at": main.closes_at, **quotas})
    by_steps = phases_by_steps(scoring, rules, found)
    actual = {each.image_set: PhaseChoice.of(each.rules, each.protocol) for each in found}
    differing = {
        name: each for name, each in actual.items() if each.model_dump() != by_steps[name].model_dump()
    }
    return scoring, rules, differing


def phases_by_steps(
    scoring: ScoringChoice, rules: SharedRules, found: Sequence[PhaseView]
) -> Mapping[str, PhaseChoice]:
    """Return the rules that steps 4 and 5 give each phase of a challenge."""
    has_hidden = any(each.is_held_out for each in found)
    chosen = {}
    for each in found:
        opens_at = rules.opens_at or each.opens_at
        given = draft_rules.rules_of(
            challenge_file.rules_choice(rules, opens_at), scoring, opens_at,
            is_held_out=each.is_held_out, is_main=each.is_held_out or not has_hidden,
        )  # fmt: skip
        chosen[each.image_set] = PhaseChoice.of(given, scoring.protocol)
    return chosen


def _terms_of(rules: SharedRules | None, title: str, text: str) -> dict[str, Any]:
    """The answer of step 5 that makes these terms; what an answer holds that does not is kept."""
    if rules is not None and draft_rules.terms_of(rules, title) == text:
        return {"terms": rules.terms, "terms_text": rules.terms_text}
    return {"terms": TermsChoice.OWN if text else TermsChoice.NONE, "terms_text": text}


def _classes_of(
    session: Session, challenge: Challenge, found: Sequence[PhaseView], descriptions: Storage
) -> Sequence[ClassChoice]:
    newest = intakes.newest(session, challenge.id)
    if newest is not None and newest.report is not None and newest.report.is_valid:
        return newest.report.classes
    if newest is not None and (chosen := session.get_one(Intake, newest.id).classes):
        return tuple(ClassChoice(**each) for each in chosen)
    names = description_of(descriptions, found[0].description_key).classes if found else ()
    return tuple(ClassChoice(name, name) for name in names)


# creating


def copy(platform: Platform, actor: Actor, code: str, new: NewCopy) -> str:
    """Create a draft with the settings of a challenge and other dates, without its data, and return its code.

    Its overview and its classes are those of its own data. Raises what `drafts.create` raises, and NotFoundError.
    """
    with drafts.creating(platform, actor, new.code, {}) as session:
        source = require_challenge(session, actor, code)
        before = settings_of(session, source, platform.descriptions)
        dates = {"opens_at": new.opens_at, "closes_at": new.closes_at}
        rules = before.rules and before.rules.model_copy(update=dates)
        settings = before.model_copy(
            update={
                "title": new.title,
                "code": new.code,
                "classes": (),
                "rules": rules,
                "phases": {
                    name: each.model_copy(update=dates if each.closes_at else dates | {"closes_at": None})
                    for name, each in before.phases.items()
                },
                "texts": before.texts.model_copy(update={"overview": ""}),
            }
        )
        now = challenges.now(session)
        if new.closes_at is not None and new.closes_at <= max(now, new.opens_at or now):
            raise drafts.StepError({"closes_at": "must be in the future, and after the opening"})
        contact = texts.sheet_of(session, source).contact
        _create(session, actor, settings, contact=contact, copy_of=code)
    platform.cache.expire_versions()
    return new.code


def _create(
    session: Session,
    actor: Actor,
    settings: ChallengeSettings,
    *,
    contact: str = "",
    copy_of: str | None = None,
) -> None:
    """Create a draft whose steps are answered as the settings say; all that was not checked yet is in its checklist."""
    now = challenges.now(session)
    rules = challenge_file.rules_choice(settings.rules, now) if settings.rules else None
    answers = {Step.WHAT: settings.what, Step.SCORING: settings.scoring, Step.RULES: rules}
    stored: dict[str, Any] = {
        step.value: each.model_dump(mode="json") for step, each in answers.items() if each
    }
    if settings.phases:
        stored[drafts.PHASES] = drafts.plain_phases(settings.phases)
    challenge = drafts.add(session, actor, settings.what, stored, copy_of)
    session.flush()
    written = NewTexts.model_construct(
        **dict(settings.texts),
        tagline=settings.tagline,
        contact=contact,
        version=1 if settings.tagline else 0,
    )
    texts.replace_texts(session, actor, challenge, written)
    pictures_from.store(session, actor, challenge, settings.pictures)
    challenge.shortest_description = settings.shortest_description
    for each in settings.questions:
        questions.ask(session, challenge, each)
    if rules is not None:
        challenge.approves_teams, challenge.most_members = rules.approves_teams, rules.most_members
        challenge.image_licence, challenge.annotation_licence = rules.image_licence, rules.annotation_licence
        terms.replace_terms(session, actor, challenge, drafts.terms_of(rules, challenge.title))
    if settings.classes and (intake := intakes.newest(session, challenge.id)) is not None:
        session.get_one(Intake, intake.id).classes = intakes.stored_classes(
            each.choice for each in settings.classes
        )


# reading a file


def read(
    platform: Platform,
    actor: Actor,
    content: bytes,
    *,
    confirmed: str | None = None,
    annotation_is_public: bool = False,
    code: str = "",
) -> FileOutcome:
    """Create the draft that a file describes, or compare it with the challenge at its address, and change that if this is confirmed.

    confirmed: `seen` of the outcome that was shown, or "" to change it whatever it differs in; None: only compare.
    annotation_is_public: of phases that are to show everything. code: the only address that the file may have.
    Raises FileError, ForbiddenError; NotFoundError if the challenge of `code` does not exist.
    """
    document = challenge_file.document_of(content)
    named = challenge_file.code_of(document) or code
    if code and named != code:
        challenge_file.refuse(
            document, {("code",): f"must be {code}, the challenge that is to be changed; found {named!r}"}
        )
    with platform.snapshot() as session:
        challenge = challenges.challenge_of(session, named)
        is_own = challenge is not None and actor.organises_challenge(challenge.id)
    if not is_own and not code:
        return _created(platform, actor, document)
    before = _compared(platform, actor, named, document)
    if confirmed is None or (confirmed and confirmed != before.outcome.seen):
        return before.outcome
    refusals = _changed(platform, actor, before, annotation_is_public=annotation_is_public)
    after = _compared(platform, actor, named, document).outcome
    changed = {(each.where, each.now) for each in before.outcome.differences}
    changed -= {(each.where, each.now) for each in after.differences}
    if changed:
        with platform.transaction() as session:
            challenge = require_challenge(session, actor, named)
            where = [each.where for each in before.outcome.differences if (each.where, each.now) in changed]
            audit.record(
                session, actor.user_id, "challenge.apply", f"challenge {challenge.id}", challenge_id=challenge.id,
                details={"settings": ", ".join(where)},
            )  # fmt: skip
    return replace(
        after,
        is_applied=bool(changed) or not after.differences,
        differences=tuple(
            replace(each, refusal=each.refusal or _refusal(each, refusals) or _left(each))
            for each in after.differences
        ),
    )


def _left(difference: SettingDifference) -> str:
    return UNUSED if _is_below(difference.where, OF_PHASES) else NO_EFFECT


def _created(platform: Platform, actor: Actor, document: Document) -> FileOutcome:
    settings = challenge_file.settings_in(document)
    try:
        with drafts.creating(platform, actor, settings.code, {}) as session:
            now = challenges.now(session)
            challenge_file.refuse(document, challenge_file.problems_of(settings, settings.code, now))
            if settings.classes and not keys.exists_any(session):
                challenge_file.refuse(
                    document, {("classes",): "no worker has started yet, which keeps them for the data set"}
                )
            _create(session, actor, settings)
    except drafts.StepError as error:
        challenge_file.refuse(document, {(name,): message for name, message in error.problems.items()})
    platform.cache.expire_versions()
    return FileOutcome(settings.code, settings.title, is_new=True, is_applied=True)


@dataclass(frozen=True, slots=True)
class _Compared:
    """A challenge beside a file. draft: None once it is open."""

    now: ChallengeSettings
    wanted: ChallengeSettings
    outcome: FileOutcome
    phases: tuple[PhaseView, ...]
    is_draft: bool
    intake: IntakeView | None

    def differs(self, *names: str) -> bool:
        """Whether settings below these names differ and can be changed."""
        return any(_is_below(each.where, names) and not each.refusal for each in self.outcome.differences)


def _is_below(where: str, names: Sequence[str]) -> bool:
    return any(where == name or where.startswith((f"{name}.", f"{name}[")) for name in names)


def _compared(platform: Platform, actor: Actor, code: str, document: Document) -> _Compared:
    with platform.snapshot() as session:
        challenge = require_challenge(session, actor, code)
        now = settings_of(session, challenge, platform.descriptions)
        wanted = challenge_file.settings_in(document, now)
        found = tuple(challenges.phases_of(session, code))
        is_draft = challenge.visibility is ChallengeVisibility.DRAFT
        if not is_draft and wanted.rules and now.rules and wanted.rules.opens_at is None:  # which is over
            rules = wanted.rules.model_copy(update={"opens_at": now.rules.opens_at})
            wanted = wanted.model_copy(update={"rules": rules})
        dataset = drafts.dataset_of(session, challenge) if is_draft else found[0].dataset if found else ""
        moment = challenges.now(session)
        problems = challenge_file.problems_of(wanted, dataset, moment)
        if not is_draft:  # some that it has are over, and stay
            before = challenge_file.problems_of(now, dataset, moment)
            problems = {path: problems[path] for path in problems if path not in before and not _stays(path)}
        challenge_file.refuse(document, problems)
        if not is_draft:
            now, wanted = _with_rules_of_phases(now, wanted, found)
        intake = intakes.newest(session, challenge.id)
    named = {each.image_set for each in found}
    differing = tuple(
        replace(each, refusal="" if is_draft else _fixed(each, named))
        for each in challenge_file.differences(now, wanted)
    )
    rules_of = {} if is_draft else _phases_wanted(wanted, found)
    released = tuple(
        each.image_set
        for each in found
        if each.image_set in rules_of
        and each.is_held_out
        and not rules_of[each.image_set].disclosure.is_held_out
    )
    outcome = FileOutcome(code, now.title, differences=differing, releases=released)
    return _Compared(now, wanted, outcome, found, is_draft, intake)


def _with_rules_of_phases(
    now: ChallengeSettings, wanted: ChallengeSettings, found: Sequence[PhaseView]
) -> tuple[ChallengeSettings, ChallengeSettings]:
    """Settings of an open challenge and of a file, both with all rules of the phases that the file names."""
    actual = {each.image_set: PhaseChoice.of(each.rules, each.protocol) for each in found}
    before = {name: actual[name] for name in wanted.phases if name in actual}
    after = {
        name: each.model_copy(
            update={
                "protocol": each.protocol or before[name].protocol,
                "opens_at": each.opens_at or before[name].opens_at,
                "quotas": in_order(each.quotas),
            }
        )
        if name in before
        else each
        for name, each in wanted.phases.items()
    }
    return now.model_copy(update={"phases": {**now.phases, **before}}), wanted.model_copy(
        update={"phases": after}
    )


def _stays(path: Path) -> bool:
    return _is_below(".".join(map(str, path)), FIXED)


def _fixed(difference: SettingDifference, named: set[str]) -> str:
    if _is_below(difference.where, FIXED):
        return STAYS
    first, _, rest = difference.where.partition(".")
    if first == "phases" and rest and not any(_is_below(rest, [name]) for name in named):
        return "the challenge has no such phase"
    return STAYS if first == "phases" and rest.endswith(".protocol") else ""


def _phases_wanted(wanted: ChallengeSettings, found: Sequence[PhaseView]) -> Mapping[str, PhaseChoice]:
    """The rules that the phases of an open challenge are to have; their protocols stay."""
    by_steps = phases_by_steps(wanted.scoring, wanted.rules, found) if wanted.scoring and wanted.rules else {}
    return {**by_steps, **wanted.phases}


# changing


@dataclass(frozen=True, slots=True)
class _Change:
    """An operation of a page, and the settings that it changes."""

    names: tuple[str, ...]
    make: Callable[[], object]


def _refusal(difference: SettingDifference, refusals: Sequence[tuple[tuple[str, ...], str]]) -> str:
    return "; ".join(
        dict.fromkeys(message for names, message in refusals if _is_below(difference.where, names))
    )


def _changed(
    platform: Platform, actor: Actor, compared: _Compared, *, annotation_is_public: bool
) -> Sequence[tuple[tuple[str, ...], str]]:
    """Change a challenge as far as the operations let this person; return what was refused, and why."""
    changes = [
        *(
            _changes_of_draft(platform, actor, compared)
            if compared.is_draft
            else _changes_of_open(platform, actor, compared, is_public=annotation_is_public)
        ),
        *_changes_of_both(platform, actor, compared),
    ]
    refused: list[tuple[tuple[str, ...], str]] = []
    for each in changes:
        if compared.differs(*each.names):
            try:
                each.make()
            except (ConflictError, MalformedError, RefusedError, NotFoundError) as error:
                refused.append((each.names, str(error)))
            except DomainError as error:
                if error.status != 403:
                    raise
                refused.append((each.names, str(error)))
    return refused


def _changes_of_draft(platform: Platform, actor: Actor, compared: _Compared) -> Iterator[_Change]:
    code, wanted = compared.now.code, compared.wanted
    scoring, rules = wanted.scoring, wanted.rules
    yield _Change(
        ("title", "tagline", "template", "tasks", "tracks"),
        lambda: drafts.save_what(platform, actor, code, wanted.what),
    )
    if scoring is not None:
        plain = ScoringChoice(**scoring.model_dump())
        yield _Change(("scoring",), lambda: drafts.save_scoring(platform, actor, code, plain))
    yield _Change(("phases",), lambda: drafts.save_phases(platform, actor, code, wanted.phases))
    if rules is not None:
        yield _Change(("rules",), lambda: _save_rules(platform, actor, code, rules))
    yield _Change(("classes",), lambda: _save_classes(platform, actor, compared))


def _save_rules(platform: Platform, actor: Actor, code: str, rules: RulesSettings) -> None:
    before = drafts.draft_of(platform, actor, code).answers.rules
    invited = before.invited if before else ""
    drafts.save_rules(
        platform, actor, code, challenge_file.rules_choice(rules, drafts.now(platform), invited)
    )


def _save_classes(platform: Platform, actor: Actor, compared: _Compared) -> None:
    choices = [each.choice for each in compared.wanted.classes]
    drafts.choose_classes(platform, actor, compared.now.code, choices)


def _changes_of_open(
    platform: Platform, actor: Actor, compared: _Compared, *, is_public: bool
) -> Iterator[_Change]:
    code, rules = compared.now.code, compared.wanted.rules
    after = _phases_wanted(compared.wanted, compared.phases)
    for phase in compared.phases:
        if phase.image_set in after:
            yield from _changes_of_phase(platform, actor, phase, after[phase.image_set], is_public=is_public)
    if rules is None:
        return
    limits = ApprovalRule(approves_teams=rules.approves_teams, most_members=rules.most_members)
    yield _Change(
        ("rules.approves_teams", "rules.most_members"),
        lambda: approvals.set_approval_rule(platform, actor, code, limits),
    )
    seen_by = NewVisibility.model_validate({"visibility": rules.visibility})
    yield _Change(("rules.visibility",), lambda: visibility.change(platform, actor, code, seen_by))
    text = draft_rules.terms_of(rules, compared.now.title)
    yield _Change(
        ("rules.terms", "rules.terms_text"),
        lambda: terms.set_terms(platform, actor, code, NewTerms(text=text)),
    )
    yield _Change(
        ("title", "tagline", "rules.image_licence", "rules.annotation_licence"),
        lambda: _save_settings(platform, actor, compared, rules),
    )


def _changes_of_phase(
    platform: Platform, actor: Actor, phase: PhaseView, wanted: PhaseChoice, *, is_public: bool
) -> Iterator[_Change]:
    before = PhaseChoice.of(phase.rules, phase.protocol).model_dump(exclude={"protocol"})
    shown = {"disclosure", "details_at_close", "only_complete"}
    given = wanted.model_dump(exclude={"protocol"}) | {"opens_at": wanted.opens_at or phase.opens_at}
    differing = {name for name in given if given[name] != before[name]}

    def change_rules() -> None:
        rules = NewRules(
            opens_at=given["opens_at"],
            closes_at=wanted.closes_at,
            grace_minutes=wanted.grace_minutes,
            quotas=tuple(NewQuota(results=each.results, days=each.days) for each in wanted.quotas),
            embargo=wanted.embargo,
            frozen_days=wanted.frozen_days,
            reason=REASON,
        )
        phases.change_rules(platform, actor, phase.id, rules)

    def disclose() -> None:
        terms = NewDisclosure(
            **wanted.model_dump(include=shown),
            shows_exposure=phase.shows_exposure,
            annotation_is_public=is_public,
            reason=REASON,
        )
        disclosing.change_disclosure(platform, actor, phase.id, terms)

    def named(change: Callable[[], None]) -> Callable[[], None]:
        def make() -> None:
            try:
                change()
            except (DomainError, RefusedError) as error:
                if isinstance(error, DomainError) and error.status >= 500:
                    raise
                raise ConflictError(f"the phase {phase.image_set}: {error}") from error

        return make

    changes = [
        *([_Change(OF_PHASES, named(change_rules))] if differing - shown else []),
        *([_Change(OF_PHASES, named(disclose))] if differing & shown else []),
    ]
    # quotas come before annotation that is scored under them is hidden, and go after it is public
    yield from changes if wanted.disclosure.is_held_out else reversed(changes)


def _changes_of_both(platform: Platform, actor: Actor, compared: _Compared) -> Iterator[_Change]:
    code, wanted = compared.now.code, compared.wanted
    yield _Change(("texts",), lambda: _save_texts(platform, actor, compared))
    yield _Change(("pictures",), lambda: pictures_from.change(platform, actor, code, wanted.pictures))
    shortest = DescriptionRule(shortest=wanted.shortest_description)
    yield _Change(
        ("shortest_description",), lambda: questions.set_description_rule(platform, actor, code, shortest)
    )
    yield _Change(("questions",), lambda: _ask(platform, actor, code, wanted.questions))


def _save_texts(platform: Platform, actor: Actor, compared: _Compared) -> None:
    sheet = texts.editable_texts(platform, actor, compared.now.code)
    wanted = compared.wanted
    new = NewTexts(**dict(wanted.texts), tagline=wanted.tagline, contact=sheet.contact, version=sheet.version)
    texts.set_texts(platform, actor, compared.now.code, new)


def _save_settings(platform: Platform, actor: Actor, compared: _Compared, rules: RulesSettings) -> None:
    sheet = texts.editable_texts(platform, actor, compared.now.code)
    new = NewSettings(
        title=compared.wanted.title,
        tagline=compared.wanted.tagline,
        image_licence=rules.image_licence,
        annotation_licence=rules.annotation_licence,
        contact=sheet.contact,
        citation=sheet.citation,
        version=sheet.version,
    )
    change_settings(platform, actor, compared.now.code, new)


def _ask(platform: Platform, actor: Actor, code: str, wanted: Sequence[NewQuestion]) -> None:
    """Ask the questions of a file. Those with the same text are changed; none is deleted, because its answers would be, too."""
    asked = {
        each.question.text: each.question
        for each in questions.questions_page(platform, actor, code).questions
    }
    for each in wanted:
        if each.text not in asked:
            questions.add_question(platform, actor, code, each)
        elif _asked(asked[each.text]) != each:
            questions.change_question(platform, actor, code, asked[each.text].id, each)
    texts_ = {each.text for each in wanted}
    if gone := [text for text in asked if text not in texts_]:
        raise ConflictError(f"delete a question on its page, since its answers go with it: {', '.join(gone)}")
    if [*asked] != [each.text for each in wanted][: len(asked)]:
        raise ConflictError("the order of questions stays as it is")
