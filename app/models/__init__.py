"""The schema."""

from app.models.artefacts import Artefact
from app.models.editions import Board, Edition, GroundTruth, Phase, TruthKey
from app.models.groups import BoardGroups
from app.models.jobs import Job
from app.models.links import AnonymousLink
from app.models.logins import (
    ApiToken,
    Identity,
    LoginSession,
    ProviderLogin,
    RecoveryCode,
    SecondFactor,
)
from app.models.mail import MailLink, MailRequest
from app.models.operations import AuditRecord, DamagedContent, Heartbeat
from app.models.people import EditionOrganiser, OneTimeLink, User
from app.models.pictures import Picture, PictureBatch, PictureSource
from app.models.published import PublishedEdition
from app.models.quotas import Quota, in_order
from app.models.runs import ClassScore, Exhibit, Publication, Rescore, Run, RunAnalysis
from app.models.similarity import AlikePair, Sketch
from app.models.states import (
    Approval,
    Decision,
    Disclosure,
    EntryState,
    ImageMode,
    JobKind,
    Queue,
    Role,
    RunState,
    Service,
    UploadState,
)
from app.models.submissions import Entry, ExtraSlot, Method, MethodChange, Submission, Upload
from app.models.table import Base
from app.models.teams import Invitation, Member, Team
from app.models.terms import Terms, TermsAcceptance

__all__ = [
    "AlikePair",
    "AnonymousLink",
    "ApiToken",
    "Approval",
    "Artefact",
    "AuditRecord",
    "Base",
    "Board",
    "BoardGroups",
    "ClassScore",
    "DamagedContent",
    "Decision",
    "Disclosure",
    "Edition",
    "EditionOrganiser",
    "Entry",
    "EntryState",
    "Exhibit",
    "ExtraSlot",
    "GroundTruth",
    "Heartbeat",
    "Identity",
    "ImageMode",
    "Invitation",
    "Job",
    "JobKind",
    "LoginSession",
    "MailLink",
    "MailRequest",
    "Member",
    "Method",
    "MethodChange",
    "OneTimeLink",
    "Phase",
    "Picture",
    "PictureBatch",
    "PictureSource",
    "ProviderLogin",
    "Publication",
    "PublishedEdition",
    "Queue",
    "Quota",
    "RecoveryCode",
    "Rescore",
    "Role",
    "Run",
    "RunAnalysis",
    "RunState",
    "SecondFactor",
    "Service",
    "Sketch",
    "Submission",
    "Team",
    "Terms",
    "TermsAcceptance",
    "TruthKey",
    "Upload",
    "UploadState",
    "User",
    "in_order",
]
