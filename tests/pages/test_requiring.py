"""Who may not see a challenge is told that there is none; who sees it but may not do something is refused."""

import uuid
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime

import pytest
from sqlalchemy import delete
from sqlalchemy.orm import Session

from app.challenges import challenges
from app.core.access import Action, Actor, require_challenge
from app.core.errors import DomainError
from app.models import Challenge, ChallengeVisibility, Disclosure, Phase, Role
from app.platform import Platform

SEEN, HIDDEN = ChallengeVisibility.LISTED, ChallengeVisibility.DRAFT
READ, ORGANISE, OWN = Action.READ_ORGANISING, Action.ORGANISE, Action.OWN


@dataclass(frozen=True, slots=True)
class Scene:
    """A challenge with a phase that is seen by everybody, and one that is a draft."""

    platform: Platform
    ids: dict[ChallengeVisibility, int]
    phases: dict[ChallengeVisibility, int]

    def actor(self, role: str) -> Actor:
        ids = frozenset(self.ids.values())
        return {
            "visitor": Actor(),
            "participant": Actor(user_id=1),
            "organiser elsewhere": Actor(user_id=1, organises=frozenset({10**6})),
            "viewer": Actor(user_id=1, views=ids),
            "organiser": Actor(user_id=1, organises=ids),
            "owner": Actor(user_id=1, organises=ids, owns=ids),
            "admin": Actor(user_id=1, role=Role.ADMIN, has_second_factor=True),
        }[role]

    def statuses(
        self, actor: Actor, visibility: ChallengeVisibility, action: Action, *, lock: bool
    ) -> set[int]:
        """Return what requiring the challenge and its phase is answered with."""
        phase = self.phases[visibility]
        with self.platform.transaction() as session:
            code = session.get_one(Challenge, self.ids[visibility]).code
            return {
                status(lambda: require_challenge(session, actor, code, action, lock=lock)),
                status(lambda: challenges.require_phase(session, actor, phase, action, lock=lock)),
            }


@pytest.fixture
def scene(platform: Platform) -> Scene:
    ids, phases = {}, {}
    with platform.transaction() as session:
        for visibility in (SEEN, HIDDEN):
            code = f"require-{uuid.uuid4().hex[:8]}"
            challenge = Challenge(code=code, title=code, dataset="VOC2007", visibility=visibility)
            session.add(challenge)
            session.flush()
            phase = Phase(
                challenge_id=challenge.id, image_set="val", disclosure=Disclosure.FULL, protocol="voc2007", description_key="none",
                opens_at=datetime(2026, 1, 1, tzinfo=UTC),
            )  # fmt: skip
            session.add(phase)
            session.flush()
            ids[visibility], phases[visibility] = challenge.id, phase.id
    return Scene(platform, ids, phases)


def status(required: Callable[[], object]) -> int:
    try:
        required()
    except DomainError as error:
        return error.status
    return 200


@pytest.mark.sampled
@pytest.mark.parametrize("lock", [False, True], ids=["read", "locked"])
@pytest.mark.parametrize(
    ("role", "seen", "hidden"),
    [  # to read the organisers' pages, to organise, to own
        ("visitor", (403, 403, 403), (404, 404, 404)),
        ("participant", (403, 403, 403), (404, 404, 404)),
        ("organiser elsewhere", (403, 403, 403), (404, 404, 404)),
        ("viewer", (200, 403, 403), (200, 403, 403)),
        ("organiser", (200, 200, 403), (200, 200, 403)),
        ("owner", (200, 200, 200), (200, 200, 200)),
        ("admin", (200, 200, 200), (200, 200, 200)),
    ],
)
def test_who_gets_which_status(
    scene: Scene, role: str, seen: tuple[int, ...], hidden: tuple[int, ...], *, lock: bool
) -> None:
    actor = scene.actor(role)

    for visibility, expected in ((SEEN, seen), (HIDDEN, hidden)):
        for action, code in zip((READ, ORGANISE, OWN), expected, strict=True):
            assert scene.statuses(actor, visibility, action, lock=lock) == {code}


def test_what_does_not_exist_is_said_as_what_is_hidden(scene: Scene) -> None:
    somebody = scene.actor("participant")

    def said(required: Callable[[Session], object]) -> str:
        with pytest.raises(DomainError) as refused, scene.platform.transaction() as session:
            required(session)
        return str(refused.value)

    with scene.platform.transaction() as session:
        code = session.get_one(Challenge, scene.ids[HIDDEN]).code
    phase = scene.phases[HIDDEN]
    hidden = (
        said(lambda session: require_challenge(session, somebody, code)),
        said(lambda session: challenges.require_phase(session, somebody, phase)),
    )
    with scene.platform.transaction() as session:
        session.execute(delete(Phase).where(Phase.id == phase))
        session.execute(delete(Challenge).where(Challenge.code == code))
    missing = (
        said(lambda session: require_challenge(session, somebody, code)),
        said(lambda session: challenges.require_phase(session, somebody, phase)),
    )

    assert hidden == missing == (f"there is no challenge {code!r}", f"there is no phase {phase}")
