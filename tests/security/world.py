"""A server with results in every state and people in every role."""

import uuid
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from itertools import count

from sqlalchemy import func, select
from sqlalchemy.orm import Session

import heldout_scoring
from app.core.access import Actor, Scope
from app.images.packs import PACK, pack
from app.intake.annotated_pictures import PUBLIC_PICTURES
from app.models import (
    AnonymousLink,
    Artefact,
    Audience,
    Board,
    Challenge,
    ChallengeCreator,
    ChallengeInvitation,
    ChallengeOrganiser,
    ChallengeRole,
    CreationRequest,
    DataFile,
    DataUpload,
    Event,
    EventKind,
    ExtraSlot,
    FileKind,
    GroundTruth,
    Intake,
    IntakeFile,
    IntakeRole,
    InvitedPerson,
    Job,
    JobKind,
    LabelProblem,
    LabelReport,
    Member,
    Method,
    Notification,
    NotificationMail,
    OneTimeLink,
    Phase,
    PublishedAnswer,
    Question,
    QuestionKind,
    Queue,
    Rescore,
    Result,
    ResultState,
    Role,
    Run,
    RunState,
    SecondFactor,
    SimilarPair,
    Submission,
    Thread,
    ThreadMessage,
    Upload,
    UploadState,
    User,
    Webhook,
)
from app.people.sessions import Browser, find_caller, start_session
from app.people.tokens import NewToken, create_token
from app.storage import digest_of
from app.submissions.methods import name_key
from app.web.dependencies import SESSION_COOKIE
from tests.pages.views import report
from tests.security.pictures import NAME as PICTURE
from tests.security.pictures import add_picture
from tests.security.undoing import UndonePlatform

PEOPLE = (
    "visitor",
    "participant",
    "stranger",
    "member",
    "viewer",
    "organiser",
    "owner",
    "elsewhere",
    "admin",
)
TOKENS = {
    "member, read": ("member", Scope.READ),
    "member, submit": ("member", Scope.SUBMIT),
    "viewer, organise": ("viewer", Scope.ORGANISE),
    "organiser, organise": ("organiser", Scope.ORGANISE),
    "organiser, read": ("organiser", Scope.READ),
    "admin, admin": ("admin", Scope.ADMIN),
    "admin, organise": ("admin", Scope.ORGANISE),
    "admin without a second factor, admin": ("unprotected", Scope.ADMIN),
}
"""Roles of programs: the token's owner and scope."""
ROLES = (*PEOPLE, *TOKENS)
LONG_AGO = datetime(2026, 1, 1, tzinfo=UTC)
HERE, THERE = "here", "there"  # challenges

Ids = dict[str, str]


@dataclass(frozen=True, slots=True)
class World:
    """Two challenges; the first has phases with one result each."""

    platform: UndonePlatform
    template: int  # the phase whose description the others share
    team_id: int
    other_team_id: int
    numbers: "count[int]" = field(default_factory=count)
    credentials: dict[str, dict[str, str]] = field(default_factory=dict)
    actors: dict[str, Actor] = field(default_factory=dict)
    results: dict[tuple[str, bool], Ids] = field(default_factory=dict)

    def headers(self, role: str) -> dict[str, str]:
        """The credentials of somebody with this role towards every result of the team, as request headers."""
        if role not in self.credentials:
            self.credentials[role] = self._credentials(role)
        return self.credentials[role]

    def _credentials(self, role: str) -> dict[str, str]:
        if role == "visitor":
            return {}
        person, scope = TOKENS.get(role, (role, None))
        with self.platform.transaction() as session:
            user = User(email=f"{role.replace(', ', '-')}@example.org", name=person)
            session.add(user)
            session.flush()
            _give_role(session, self, user, person)
            cookie = None if scope else start_session(session, self.platform, user.id, Browser("test"))
            if person == "admin":  # one who logged in with a code
                session.add(SecondFactor(user_id=user.id, secret="none", confirmed_at=func.now()))
        if scope is None:
            return {"Cookie": f"{SESSION_COOKIE}={cookie}"}
        token = create_token(self.platform, user.id, NewToken(name="test", scope=frozenset({scope}), days=1))
        return {"Authorization": f"Bearer {token}"}

    def actor(self, role: str) -> Actor:
        """Who makes the requests of this role, as the application sees it."""
        if role not in self.actors:
            headers = self.headers(role)
            cookie = headers.get("Cookie", "").removeprefix(f"{SESSION_COOKIE}=")
            bearer = headers.get("Authorization", "").removeprefix("Bearer ")
            self.actors[role] = find_caller(self.platform, cookie, bearer).actor
        return self.actors[role]

    def result(self, state: str, *, is_open: bool) -> Ids:
        """The path parameters of a result in this state, in its own phase."""
        if (state, is_open) not in self.results:
            with self.platform.transaction() as session:
                self.results[state, is_open] = _add_result(session, self, state, is_open=is_open)
        return self.results[state, is_open]


def _give_role(session: Session, world: World, user: User, role: str) -> None:
    challenge = {each.code: each.id for each in session.scalars(select(Challenge))}
    teams = {"member": world.team_id, "stranger": world.other_team_id}
    organised = {
        "viewer": (challenge[HERE], ChallengeRole.VIEWER),
        "organiser": (challenge[HERE], ChallengeRole.ORGANISER),
        "owner": (challenge[HERE], ChallengeRole.OWNER),
        "elsewhere": (challenge[THERE], ChallengeRole.OWNER),
    }
    if role in teams:
        session.add(Member(team_id=teams[role], user_id=user.id, challenge_id=challenge[HERE]))
    elif role in organised:
        challenge_id, held = organised[role]
        session.add(ChallengeOrganiser(challenge_id=challenge_id, user_id=user.id, role=held))
    elif role in ("admin", "unprotected"):
        user.role = Role.ADMIN


def _add_result(session: Session, world: World, state: str, *, is_open: bool) -> Ids:  # noqa: PLR0915
    """Add a phase with an upload, a method, a scored result and a re-scoring that awaits a decision."""
    author = session.scalars(select(Member.user_id).where(Member.team_id == world.team_id).limit(1)).one()
    phase, truth = _add_phase(session, world, is_open=is_open)
    method = Method(
        challenge_id=phase.challenge_id,
        team_id=world.team_id,
        name=phase.image_set,
        name_key=name_key(phase.image_set),
        description="long enough " * 50,
        public_at=None if state in ("private", "anonymous") else func.now(),
    )
    upload = _upload(world, phase, author)
    session.add_all((method, upload))
    session.flush()
    submission = Submission(
        upload_id=upload.id,
        phase_id=phase.id,
        method_id=method.id,
        user_id=author,
        request_digest=b"",
        training={},
    )
    session.add(submission)
    session.flush()
    result = Result(submission_id=submission.id, method_id=method.id, phase_id=phase.id, competition=3)
    rescore = Rescore(phase_id=phase.id, ground_truth_id=truth.id, scorer=heldout_scoring.SCORER)
    session.add_all((result, rescore))
    session.flush()
    scored, undecided = _runs(world, result, rescore)
    scored.receipt = f"receipt-of-{phase.image_set}"
    dead = Job(kind=JobKind.INTERVALS, queue=Queue.FOLLOW_UPS, payload={}, dead_at=func.now())
    person = User(email=f"{phase.image_set}@example.org", name="Somebody")
    session.add_all((scored, undecided, dead, person))
    session.flush()
    session.add(ChallengeOrganiser(challenge_id=phase.challenge_id, user_id=person.id))
    session.add(Member(team_id=world.team_id, user_id=person.id, challenge_id=phase.challenge_id))
    link = AnonymousLink(
        token=f"token-of-{phase.image_set}",
        result_id=result.id,
        run_id=scored.id,
        revoked_at=func.now() if state == "private" else None,
    )
    creation = CreationRequest(user_id=person.id, sentence="A challenge on oaks")
    session.add_all((ChallengeCreator(user_id=person.id), creation))
    invitation = ChallengeInvitation(
        challenge_id=phase.challenge_id, code_hash=phase.image_set.encode(), note="A course"
    )
    session.add(invitation)
    session.flush()
    session.add(
        InvitedPerson(challenge_id=phase.challenge_id, user_id=person.id, invitation_id=invitation.id)
    )
    question = Question(challenge_id=phase.challenge_id, text="Runtime", kind=QuestionKind.NUMBER)
    slot = ExtraSlot(phase_id=phase.id, team_id=world.team_id, task="detection", reason="none")
    twin = Result(submission_id=submission.id, method_id=method.id, phase_id=phase.id, competition=4)
    role_invitation = OneTimeLink(
        token_hash=phase.image_set.encode(),
        challenge_id=phase.challenge_id,
        email="invited@example.org",
        expires_at=func.now() + timedelta(days=7),
    )
    hook = Webhook(
        challenge_id=phase.challenge_id,
        name="Chat",
        url="https://hooks.example.org/",
        secret="whsec_AAAA",
        created_by=author,
    )
    session.add_all((link, question, slot, twin, role_invitation, hook))
    session.flush()
    mail = NotificationMail(
        user_id=person.id, kind=EventKind.OPENED, due_at=func.now(), attempts=1, failed_at=func.now()
    )
    event = Event(kind=EventKind.OPENED, challenge_id=phase.challenge_id, phase_id=phase.id)
    session.add_all((mail, event))
    session.flush()
    notification = Notification(event_id=event.id, user_id=author)
    session.add(notification)
    pair = SimilarPair(phase_id=phase.id, result_id=twin.id, other_id=result.id, same_predictions=False)
    session.add(pair)
    session.flush()
    file, data_upload = _data_file(session, world, phase, author)
    intake_file = _intake_file(session, world, phase, author)
    thread = _thread(session, world, upload, author)
    report_ = LabelReport(
        phase_id=phase.id, image=PICTURE, user_id=author, kind=LabelProblem.OTHER, text="It is a lynx"
    )
    session.add(report_)
    result.state, result.published_run_id, result.published_generation = ResultState.SCORED, scored.id, 1
    if state == "withdrawn":
        result.state, result.withdrawn_at = ResultState.WITHDRAWN, func.now()
        result.published_run_id = result.published_generation = None
    session.flush()
    return {
        "upload_id": str(upload.id), "submission_id": str(submission.id), "method_id": str(method.id),
        "result_id": str(result.id), "run_id": str(scored.id), "receipt": str(scored.receipt), "phase_id": str(phase.id),
        "rescore_id": str(rescore.id), "message_id": str(dead.id), "user_id": str(person.id),
        "team_id": str(world.team_id), "person": str(person.id), "link_id": str(link.id), "link_token": link.token,
        "invitation_key": role_invitation.token_hash.hex(), "slot_id": str(slot.id), "question_id": str(question.id), "webhook_id": str(hook.id), "pair_id": str(pair.id),
        "challenge_invitation_id": str(invitation.id), "request_id": str(creation.id),
        "file_id": str(file.id), "data_upload_id": str(data_upload.id), "thread_id": str(thread.id), "report_id": str(report_.id),
        "intake_id": str(intake_file.intake_id), "intake_file_id": str(intake_file.id),
        "truth_id": str(rescore.ground_truth_id), "mail_id": str(mail.id), "notification_id": str(notification.id),
        "image_set": phase.image_set, "undecided_run_id": str(undecided.id),
    }  # fmt: skip


def _thread(session: Session, world: World, upload: Upload, author: int) -> Thread:
    """An answered and published question of the team, and a draft of a message to all teams."""
    here = session.get_one(Phase, upload.phase_id).challenge_id
    thread = Thread(
        challenge_id=here,
        team_id=world.team_id,
        asked_by=author,
        phase_id=upload.phase_id,
        upload_id=upload.id,
        title="Why",
    )
    session.add(thread)
    session.flush()
    asked = ThreadMessage(thread_id=thread.id, author_id=author, is_answer=False, text="Why?")
    published = PublishedAnswer(
        challenge_id=here, thread_id=thread.id, title="Why", question="Why?", answer="So", created_by=author
    )
    session.add_all((asked, published))
    session.flush()
    thread.last_message_id = asked.id
    return thread


IMAGES = b"images"
FILES: dict[str, uuid.UUID] = {}  # the ids of stored data files by key


def restore_files(world: World) -> None:
    """Store the data files again whose bytes a request deleted, which is not undone."""
    for key, each in FILES.items():
        if not world.platform.files.exists(key):
            world.platform.files.put(IMAGES, each)


def _data_file(session: Session, world: World, phase: Phase, author: int) -> tuple[DataFile, DataUpload]:
    """A file for everybody, and bytes of its next version that are arriving."""
    owner = uuid.uuid4()
    key = world.platform.files.put(IMAGES, owner)
    FILES[key] = owner
    file = DataFile(
        challenge_id=phase.challenge_id,
        name=f"{phase.image_set}.zip",
        title="Images",
        kind=FileKind.OTHER,
        audience=Audience.EVERYBODY,
        version=1,
        key=key,
        sha256=digest_of(key),
        size=len(IMAGES),
        stored_at=LONG_AGO,
    )
    session.add(file)
    session.flush()
    upload = DataUpload(file_id=file.id, user_id=author, size=10)
    session.add(upload)
    session.flush()
    return file, upload


def _intake_file(session: Session, world: World, phase: Phase, author: int) -> IntakeFile:
    """A file of a data set, of which nothing has arrived; of its report, pictures of public annotation."""
    intake = Intake(challenge_id=phase.challenge_id, user_id=author)
    session.add(intake)
    session.flush()
    key = world.platform.artefacts.put(pack([b"{}", b"JPEG"]), uuid.uuid4())
    facts = {"version": "1", "key": key, "media_type": PACK, "size": 4, "as_of": LONG_AGO}
    session.add(Artefact(kind=PUBLIC_PICTURES, subject=str(intake.id), **facts))
    file = IntakeFile(intake_id=intake.id, role=IntakeRole.IMAGES, name="images.zip", size=10, received=0)
    session.add(file)
    session.flush()
    return file


def _add_phase(session: Session, world: World, *, is_open: bool) -> tuple[Phase, GroundTruth]:
    template = session.get_one(Phase, world.template)
    name = f"set{next(world.numbers)}"
    phase = Phase(
        challenge_id=template.challenge_id,
        image_set=name,
        disclosure=template.disclosure,
        protocol=template.protocol,
        description_key=template.description_key,
        opens_at=LONG_AGO,
        closes_at=None if is_open else LONG_AGO + timedelta(days=9),
    )
    session.add(phase)
    session.flush()
    truth = GroundTruth(
        phase_id=phase.id,
        version=1,
        fingerprint=name,
        statistics={},
        description_key=template.description_key,
        not_offered={},
    )
    session.add(truth)
    session.flush()
    session.add(
        Board(
            phase_id=phase.id,
            competition=3,
            protocol=phase.protocol,
            ground_truth_id=truth.id,
            scorer=heldout_scoring.SCORER,
        )
    )
    add_picture(session, world.platform, phase.id, truth.id)
    return phase, truth


def _upload(world: World, phase: Phase, author: int) -> Upload:
    content, upload_id = b"results", uuid.uuid4()
    return Upload(
        id=upload_id,
        phase_id=phase.id,
        team_id=world.team_id,
        user_id=author,
        filename="results.tar",
        size=len(content),
        received=len(content),
        sha256=digest_of(world.platform.archives.put(content, upload_id)),
        state=UploadState.CHECKED,
        valid=True,
        report=report(valid=True),
        received_at=func.now(),
        checked_at=func.now(),
        description_digest=digest_of(phase.description_key),
    )


def _runs(world: World, result: Result, rescore: Rescore) -> tuple[Run, Run]:
    """A scored run, and a run of the re-scoring that was refused."""
    facts = {
        "result_id": result.id, "ground_truth_id": rescore.ground_truth_id, "protocol": "voc2007", "scorer": rescore.scorer,
        "team_id": world.team_id, "finished_at": LONG_AGO,
    }  # fmt: skip
    return Run(**facts, state=RunState.SCORED), Run(**facts, state=RunState.REFUSED, rescore_id=rescore.id)
