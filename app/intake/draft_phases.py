"""The phases of a draft: which image sets become phases, and how a worker makes them when it has read the data set."""

import enum
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final
from uuid import UUID

from sqlalchemy import select, update
from sqlalchemy.orm import Session

import scoring
from app.challenges import challenges
from app.challenges.phase_rules import PhaseRules, store
from app.intake import applying, testing, trials
from app.intake.applying import OTHER_PROTOCOL, ApplyError, OutdatedError, ReadySet, Written
from app.intake.importing import TreeImport
from app.intake.inspecting import CHOSEN
from app.intake.reports import HIDDEN, PUBLIC, FoundSet, Report
from app.models import (
    Board,
    Challenge,
    ChallengeDraft,
    ChallengeVisibility,
    Disclosure,
    ImageMode,
    Intake,
    Phase,
    Quota,
)
from app.platform import Platform
from scoring.competitions import CHALLENGES

NEW_QUOTAS: Final = (
    Quota(2, 7),
    Quota(30, None),
)  # of a phase whose annotation is hidden, until organisers choose others
READ_AGAIN: Final = (
    "The data set was read after this date was chosen; look at what became of it, and choose the date again."
)


class Task(enum.StrEnum):
    """What participants do."""

    CLASSIFICATION = "classification"
    DETECTION = "detection"
    SEGMENTATION = "segmentation"
    LAYOUT = "layout"
    ACTION = "action"


class Template(enum.StrEnum):
    """Whose files and measures a challenge has."""

    VOC = "voc"
    COCO = "coco"


class Tracks(enum.StrEnum):
    """How the training data divides the results of a task."""

    ONE = "one"  # a leaderboard for each task
    TWO = "two"  # one for methods trained on the given images, another for any data


def kind_of(task: str) -> Task:
    """The task of the library that a card stands for.

    >>> kind_of("coco-segmentation"), kind_of("action")
    (<Task.SEGMENTATION: 'segmentation'>, <Task.ACTION: 'action'>)
    """
    return Task(task.rpartition("-")[2])


def competitions_of(dataset: str, tasks: Collection[str], tracks: str) -> tuple[int, ...]:
    """Return the numbers of the competitions that a challenge offers.

    >>> competitions_of("birds", ["detection"], "one"), competitions_of("COCO", ["detection"], "one")
    ((4,), (1,))
    """
    found = [each for each in scoring.competitions(dataset) if kind_of(each.task) in tasks]
    shared = {each.title for each in found if not each.own_data}
    return tuple(
        each.number for each in found if tracks == Tracks.TWO or each.own_data or each.title not in shared
    )


def protocols_of(dataset: str) -> tuple[str, ...]:
    """Return the names of the protocols that have rules for every task of a data set, its own first."""
    tasks = {each.task for each in scoring.competitions(dataset)}
    current = [each for name, each in scoring.PROTOCOLS.items() if name == each.name]  # without former names
    found = [each.name for each in current if tasks <= {rules.task.name for rules in each.tasks}]
    usual = scoring.default_protocol(dataset) if dataset in CHALLENGES else OTHER_PROTOCOL
    return tuple(sorted(found, key=lambda name: name != usual))


def chosen_sets(sets: Sequence[FoundSet], keys: Collection[str] | None) -> tuple[FoundSet, ...]:
    """Return the sets that participants submit to: those with these keys, or all but those for training."""
    if keys is None:
        keys = [each.key for each in sets if each.role == HIDDEN or not each.name.startswith("train")]
    return tuple(each for each in sets if each.key in keys)


def problem_of_sets(chosen: Sequence[FoundSet], tasks: Collection[str], tracks: str) -> str:
    """Say why these sets cannot be phases; empty if they can."""
    if not chosen:
        return "choose image sets of the report"
    names = [each.name for each in chosen]
    if twice := sorted({name for name in names if names.count(name) > 1}):
        return f"two sets are called {', '.join(twice)}; rename their files, or choose one"
    if len({each.dataset for each in chosen}) > 1:
        return "the chosen sets are of different kinds: development kits and COCO JSON do not mix"
    offered = competitions_of(chosen[0].dataset, tasks, tracks)
    if bare := [each.name for each in chosen if not set(each.competitions) & set(offered)]:
        return (
            f"{', '.join(bare)}: there is no annotation for {', '.join(tasks)}; choose other tasks in step 1"
        )
    return ""


# making them


@dataclass(frozen=True, slots=True)
class ReadyPhases:
    """The image sets of a draft whose files are stored, and whose rows are not written yet."""

    protocol: str
    sets: tuple[ReadySet, ...]

    def write(self, session: Session, intake: Intake) -> Written:
        """Make the phases of the draft these, with version 1 of their annotation in place of the one before.

        `applying.lock` must have been called before. Phases keep their rules; test runs are deleted. Raises ApplyError, and
        OutdatedError if the files have to be stored again; the transaction then has to be rolled back.
        """
        challenge = session.get_one(Challenge, intake.challenge_id)
        if challenge.visibility is not ChallengeVisibility.DRAFT:
            raise ApplyError("The challenge was opened meanwhile, so its phases stay as they are")
        draft = session.get_one(ChallengeDraft, challenge.id, with_for_update=True)
        challenge.dataset = self.sets[0].found.dataset
        with applying.explained():
            tests = testing.delete_all(session, intake.user_id, challenge)
            pictures = testing.delete_truths(
                session, challenge.id, kept=[each.tree.image_set for each in self.sets]
            )
            phases = _phases(session, challenge.id)
            written = [self._write(session, each, phases, draft) for each in self.sets]
        if draft.opens_at is not None:
            draft.opens_at, draft.refusal = None, READ_AGAIN
        cleaned: tuple[Callable[[Platform], None], ...] = (
            lambda platform: testing.remove_contents(platform, tests),
            *(each.remove for each in pictures),
        )
        message = " ".join(filter(None, (each.values["message"] for each in written)))
        return Written(
            {**written[0].values, "message": message},
            (*cleaned, *(remove for each in written for remove in each.clean)),
        )

    def _write(
        self, session: Session, ready: ReadySet, phases: Mapping[str, Phase], draft: ChallengeDraft
    ) -> Written:
        phase = phases.get(ready.tree.image_set)
        if phase is not None and phase.protocol != self.protocol:
            raise OutdatedError
        is_other = phase is not None and phase.is_held_out != (ready.found.role == HIDDEN)
        if phase is not None and is_other:
            store(_rules_of_new(session, ready.found.role, phases.values(), draft), phase)
        written = ready.write(session)
        if phase is None:
            rules = _rules_of_new(session, ready.found.role, phases.values(), draft)
            store(rules, session.get_one(Phase, written.values["phase_id"]))
        return written


def _phases(session: Session, challenge_id: int) -> dict[str, Phase]:
    rows = session.scalars(select(Phase).where(Phase.challenge_id == challenge_id).order_by(Phase.id))
    return {each.image_set: each for each in rows}


def _rules_of_new(
    session: Session, role: str, phases: Collection[Phase], draft: ChallengeDraft
) -> PhaseRules:
    """Return rules for a phase with this annotation: as another phase of the draft has, or one of the challenge that it copies."""
    now = challenges.now(session)
    copied = _phases(session, draft.copy_of).values() if draft.copy_of else ()
    for each in (*phases, *copied):
        if each.is_held_out == (role == HIDDEN):
            rules = PhaseRules.of(each)
            return rules if each in phases else rules.moved_to(now)
    if role == PUBLIC:
        return PhaseRules(opens_at=now, disclosure=Disclosure.FULL)
    return PhaseRules(opens_at=now, disclosure=Disclosure.CLASSES, quotas=NEW_QUOTAS)


def prepare(
    platform: Platform, intake_id: UUID, challenge: str, report: Report, folder: Path
) -> ReadyPhases | None:
    """Store the files of the image sets that become phases of a draft; None if organisers have to choose others first.

    May be repeated. Raises ApplyError.
    """
    with platform.transaction() as session:
        intake = session.get_one(Intake, intake_id)
        draft = session.get_one(ChallengeDraft, intake.challenge_id)
        sets = chosen_sets(report.sets, intake.sets)
        if problem_of_sets(sets, draft.tasks, draft.tracks):
            return None
        dataset, user_id = sets[0].dataset, intake.user_id
        competitions = competitions_of(dataset, draft.tasks, draft.tracks)
        protocol = _protocol(session, draft, dataset)
    ready = tuple(
        applying.store_set(
            platform,
            TreeImport(
                tree=folder / CHOSEN / each.key,
                challenge=challenge,
                image_set=each.name,
                protocol=protocol,
                disclosure=Disclosure.FULL if each.role == PUBLIC else None,
                competitions=competitions,
                images=ImageMode.COPY,
                user_id=user_id,
                intake=intake_id,
            ),
            each,
            folder,
            is_first=True,
        )
        for each in sets
    )
    return ReadyPhases(protocol, ready)


def change_protocol(session: Session, phases: Sequence[Phase], protocol: str) -> None:
    """Score the phases of a draft, which has no test runs, by another protocol."""
    for phase in phases:
        phase.protocol = protocol
        session.execute(update(Board).where(Board.phase_id == phase.id).values(protocol=protocol))
        truth = challenges.newest_truth(session, phase.id)
        if truth is not None and phase.is_held_out:
            trials.add(session, truth.id)


def _protocol(session: Session, draft: ChallengeDraft, dataset: str) -> str:
    """The protocol of the phases of a draft: the one that it has, or the challenge that it copies, if that fits the data set."""
    possible = protocols_of(dataset)
    for challenge_id in (draft.challenge_id, draft.copy_of):
        statement = select(Phase.protocol).where(
            Phase.challenge_id == challenge_id, Phase.protocol.in_(possible)
        )
        if found := session.scalar(statement.order_by(Phase.id).limit(1)):
            return found
    return possible[0]
