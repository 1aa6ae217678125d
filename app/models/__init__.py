"""The schema."""

from app.models.editions import Board, Edition, GroundTruth, Phase
from app.models.people import ApiToken, LoginSession, Member, OneTimeLink, Team, User
from app.models.runs import ClassScore, Exhibit, Rescore, Run
from app.models.states import Disclosure, EntryState, Role, RunState, UploadState
from app.models.submissions import Entry, Method, Submission, Upload
from app.models.table import Base

__all__ = [
    "ApiToken",
    "Base",
    "Board",
    "ClassScore",
    "Disclosure",
    "Edition",
    "Entry",
    "EntryState",
    "Exhibit",
    "GroundTruth",
    "LoginSession",
    "Member",
    "Method",
    "OneTimeLink",
    "Phase",
    "Rescore",
    "Role",
    "Run",
    "RunState",
    "Submission",
    "Team",
    "Upload",
    "UploadState",
    "User",
]
