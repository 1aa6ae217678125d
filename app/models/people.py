"""Tables of accounts, logins, organisers, tokens and terms."""

from datetime import datetime
from typing import Any

from sqlalchemy import BigInteger, CheckConstraint, ForeignKey, Index, UniqueConstraint, text
from sqlalchemy.orm import Mapped, mapped_column

from app.models.challenges import Challenge
from app.models.table import Base, ChallengeRole, Role, key_column, now_column


class User(Base):
    """A person who can log in."""

    __tablename__ = "user_account"
    __table_args__ = (
        Index(
            "uq_user_account_email", "email", unique=True, postgresql_where=text("verified_at IS NOT NULL")
        ),
        Index("ix_user_account_email", "email"),
        Index(
            "ix_user_account_unconfirmed",
            "created_at",
            postgresql_where=text("verified_at IS NULL AND deleted_at IS NULL"),
        ),
    )
    id: Mapped[int] = key_column()
    email: Mapped[str]  # NFKC, case folded; unique among confirmed addresses
    name: Mapped[str]
    affiliation: Mapped[str] = mapped_column(default="")
    # https://…, shown where a team names the person publicly
    homepage: Mapped[str] = mapped_column(default="")
    orcid: Mapped[str] = mapped_column(default="")  # such as 0000-0002-1825-0097, shown likewise
    password_hash: Mapped[str | None]  # None: no login with a password
    role: Mapped[Role] = mapped_column(default=Role.PARTICIPANT)
    created_at: Mapped[datetime] = now_column()
    suspended_at: Mapped[datetime | None]  # by an admin; its sessions and tokens are rejected
    verified_at: Mapped[datetime | None]  # when the address was confirmed
    new_email: Mapped[str | None]  # replaces the other address once it is confirmed
    deleted_at: Mapped[datetime | None]  # the row stays, without personal data, because others refer to it


class ChallengeOrganiser(Base):
    """A person with a role in the organisation of a challenge."""

    __tablename__ = "challenge_organiser"
    challenge_id: Mapped[int] = mapped_column(ForeignKey(Challenge.id, ondelete="CASCADE"), primary_key=True)
    user_id: Mapped[int] = mapped_column(
        ForeignKey(User.id, ondelete="CASCADE"), primary_key=True, index=True
    )
    role: Mapped[ChallengeRole] = mapped_column(server_default=ChallengeRole.OWNER)
    added_at: Mapped[datetime] = now_column()


class ChallengeInvitation(Base):
    """Who may see a challenge that is open to invited people: an address, all addresses of a domain, or a code's holders."""

    __tablename__ = "challenge_invitation"
    __table_args__ = (
        CheckConstraint("num_nonnulls(address, domain, code_hash) = 1", name="of_one_kind"),
        CheckConstraint("uses_left >= 0", name="uses_left_not_negative"),
        Index("ix_challenge_invitation_address", "address", postgresql_where=text("address IS NOT NULL")),
        Index("ix_challenge_invitation_domain", "domain", postgresql_where=text("domain IS NOT NULL")),
    )
    id: Mapped[int] = key_column()
    challenge_id: Mapped[int] = mapped_column(ForeignKey(Challenge.id, ondelete="CASCADE"), index=True)
    address: Mapped[str | None]  # NFKC, case folded
    domain: Mapped[str | None]  # the same, after the @
    code_hash: Mapped[bytes | None] = mapped_column(unique=True)
    uses_left: Mapped[int | None]  # of a code; None without a limit
    note: Mapped[str] = mapped_column(default="")  # for organisers: whom it is for
    created_by: Mapped[int | None] = mapped_column(ForeignKey(User.id, ondelete="SET NULL"))
    created_at: Mapped[datetime] = now_column()
    revoked_at: Mapped[datetime | None]


class InvitedPerson(Base):
    """A person who has redeemed a code; revoking the code later does not change this."""

    __tablename__ = "invited_person"
    challenge_id: Mapped[int] = mapped_column(ForeignKey(Challenge.id, ondelete="CASCADE"), primary_key=True)
    user_id: Mapped[int] = mapped_column(
        ForeignKey(User.id, ondelete="CASCADE"), primary_key=True, index=True
    )
    invitation_id: Mapped[int] = mapped_column(
        ForeignKey(ChallengeInvitation.id, ondelete="CASCADE"), index=True
    )
    redeemed_at: Mapped[datetime] = now_column()


class ChallengeCreator(Base):
    """A person, other than admins, who may create challenges where the rule of the site lets named people do so."""

    __tablename__ = "challenge_creator"
    user_id: Mapped[int] = mapped_column(ForeignKey(User.id, ondelete="CASCADE"), primary_key=True)
    added_at: Mapped[datetime] = now_column()


class CreationRequest(Base):
    """A request to be allowed to create challenges; a person has one at most that is not decided."""

    __tablename__ = "creation_request"
    __table_args__ = (
        Index(
            "uq_creation_request_open", "user_id", unique=True, postgresql_where=text("decided_at IS NULL")
        ),
        CheckConstraint("(decided_at IS NULL) = (is_approved IS NULL)", name="decided_with_outcome"),
    )
    id: Mapped[int] = key_column()
    user_id: Mapped[int] = mapped_column(ForeignKey(User.id, ondelete="CASCADE"), index=True)
    sentence: Mapped[str]  # what the person wants to run
    asked_at: Mapped[datetime] = now_column()
    decided_at: Mapped[datetime | None]
    is_approved: Mapped[bool | None]
    reason: Mapped[str] = mapped_column(default="")  # of a refusal


class OneTimeLink(Base):
    """A link that gives the first person who uses it a role in a challenge, or makes them an admin."""

    __tablename__ = "one_time_link"
    token_hash: Mapped[bytes] = mapped_column(primary_key=True)
    challenge_id: Mapped[int | None] = mapped_column(ForeignKey(Challenge.id))  # None: it makes an admin
    # whether it is the code of /setup, which is void as soon as there is an admin
    is_setup: Mapped[bool] = mapped_column(default=False, server_default=text("false"))
    role: Mapped[ChallengeRole] = mapped_column(server_default=ChallengeRole.OWNER)  # in the challenge
    email: Mapped[str | None]  # where it was mailed to; None: shown on the command line
    created_at: Mapped[datetime] = now_column()
    expires_at: Mapped[datetime]
    used_by: Mapped[int | None] = mapped_column(ForeignKey(User.id))
    revoked_at: Mapped[datetime | None]


class LoginSession(Base):
    """A logged-in browser, identified by the hash of its cookie."""

    __tablename__ = "login_session"
    token_hash: Mapped[bytes] = mapped_column(primary_key=True)
    user_id: Mapped[int] = mapped_column(ForeignKey(User.id, ondelete="CASCADE"), index=True)
    browser: Mapped[str]  # such as "Firefox on Linux"
    created_at: Mapped[datetime] = now_column()
    authenticated_at: Mapped[datetime] = now_column()  # when the user last authenticated
    last_seen_at: Mapped[datetime] = now_column()  # accurate to the minute
    expires_at: Mapped[datetime]
    # True until the second factor is given; the session has no rights before that
    awaits_code: Mapped[bool] = mapped_column(default=False)


class Viewing(Base):
    """An organiser's session that views a challenge as somebody else until a time; it ends with the session's token."""

    __tablename__ = "viewing"
    token_hash: Mapped[bytes] = mapped_column(
        ForeignKey(LoginSession.token_hash, ondelete="CASCADE", onupdate="CASCADE"), primary_key=True
    )
    challenge_id: Mapped[int] = mapped_column(ForeignKey(Challenge.id, ondelete="CASCADE"), index=True)
    team_id: Mapped[int | None] = mapped_column(  # of the release before; its team is a new participant now
        ForeignKey("team.id", ondelete="CASCADE"), index=True
    )
    is_visitor: Mapped[bool] = mapped_column(default=False)  # otherwise somebody who is logged in
    until: Mapped[datetime]


class SecondFactor(Base):
    """The secret that a person's authenticator app shares with the server."""

    __tablename__ = "second_factor"
    user_id: Mapped[int] = mapped_column(ForeignKey(User.id, ondelete="CASCADE"), primary_key=True)
    secret: Mapped[str]
    created_at: Mapped[datetime] = now_column()
    confirmed_at: Mapped[datetime | None]  # when the first code was given; None: logins do not ask for one
    last_step: Mapped[int] = mapped_column(BigInteger, default=0)  # of the last code, to reject reuse


class Identity(Base):
    """A provider identity that is linked to an account for login."""

    __tablename__ = "identity"
    __table_args__ = (UniqueConstraint("user_id", "issuer", name="uq_identity_user_id_issuer"),)
    issuer: Mapped[str] = mapped_column(primary_key=True)
    subject: Mapped[str] = mapped_column(primary_key=True)  # the user's id at this provider
    user_id: Mapped[int] = mapped_column(ForeignKey(User.id, ondelete="CASCADE"))
    email: Mapped[str]  # as reported by the provider when linked; informational only
    linked_at: Mapped[datetime] = now_column()
    last_used_at: Mapped[datetime] = now_column()


class ProviderLogin(Base):
    """A provider login in progress, valid for a few minutes, identified by the hash of its cookie."""

    __tablename__ = "provider_login"
    __table_args__ = (Index("ix_provider_login_expires_at", "expires_at"),)
    cookie_hash: Mapped[bytes] = mapped_column(primary_key=True)
    content: Mapped[dict[str, Any]]
    expires_at: Mapped[datetime]


class RecoveryCode(Base):
    """A single-use replacement for a code of the authenticator app."""

    __tablename__ = "recovery_code"
    id: Mapped[int] = key_column()
    user_id: Mapped[int] = mapped_column(ForeignKey(User.id, ondelete="CASCADE"), index=True)
    code_hash: Mapped[bytes]
    used_at: Mapped[datetime | None]


class ApiToken(Base):
    """An API token of a person; shown once, stored as a hash."""

    __tablename__ = "api_token"
    id: Mapped[int] = key_column()
    user_id: Mapped[int] = mapped_column(ForeignKey(User.id, ondelete="CASCADE"), index=True)
    name: Mapped[str]
    token_hash: Mapped[bytes] = mapped_column(unique=True)
    hint: Mapped[str]  # the first characters, to tell tokens apart
    scopes: Mapped[list[str]]
    created_at: Mapped[datetime] = now_column()
    expires_at: Mapped[datetime]
    last_used_at: Mapped[datetime | None]
    revoked_at: Mapped[datetime | None]


class Terms(Base):
    """One version of the terms of a challenge; immutable, superseded by later versions."""

    __tablename__ = "terms"
    __table_args__ = (
        UniqueConstraint("challenge_id", "version"),
        CheckConstraint("version > 0", name="version_positive"),
    )
    id: Mapped[int] = key_column()
    challenge_id: Mapped[int] = mapped_column(ForeignKey(Challenge.id, ondelete="CASCADE"))
    version: Mapped[int]
    text: Mapped[str]
    set_at: Mapped[datetime] = now_column()
    set_by: Mapped[int | None] = mapped_column(ForeignKey(User.id))


class TermsAcceptance(Base):
    """A person's acceptance of a version of the terms."""

    __tablename__ = "terms_acceptance"
    user_id: Mapped[int] = mapped_column(ForeignKey(User.id, ondelete="CASCADE"), primary_key=True)
    terms_id: Mapped[int] = mapped_column(ForeignKey(Terms.id, ondelete="CASCADE"), primary_key=True)
    accepted_at: Mapped[datetime] = now_column()
