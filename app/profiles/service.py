"""Changing one's profile, taking one's data along, ending one's account."""

import json
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

from sqlalchemy.orm import Session

from app.access import Actor
from app.audit import queries as audit
from app.entries import service as entries
from app.errors import ConflictError, NotFoundError
from app.login_settings import LoginSettings
from app.mail import service as mail
from app.mail.schemas import Letter
from app.memberships import service as memberships
from app.models import Queue
from app.platform import Platform
from app.profiles import queries
from app.profiles.rules import NOT_FOR_TOKENS, deletion_conflict, erased_name
from app.profiles.schemas import Deletion, OwnResults, Profile, Results
from app.sessions.service import check_owner

KEEP_UNCONFIRMED = timedelta(days=30)  # accounts whose address nobody confirms
BATCH = 100  # accounts of one sweep


def profile(platform: Platform, actor: Actor) -> Profile:
    """What the person says of themselves."""
    assert actor.user_id is not None
    with platform.transaction() as session:
        user = queries.person(session, actor.user_id)
        assert user is not None
        return Profile(name=user.name, affiliation=user.affiliation, homepage=user.homepage, orcid=user.orcid)


def change(platform: Platform, actor: Actor, new: Profile) -> None:
    """Change what the person says of themselves; names of teams stay as they are."""
    assert actor.user_id is not None
    with platform.transaction() as session:
        user = queries.person(session, actor.user_id)
        assert user is not None
        user.name, user.affiliation = new.name, new.affiliation
        user.homepage, user.orcid = new.homepage, new.orcid


def own_results(platform: Platform, actor: Actor) -> tuple[OwnResults, ...]:
    """What the person's teams have on boards."""
    assert actor.user_id is not None
    with platform.transaction() as session:
        return queries.own_results(session, actor.user_id)


def export(platform: Platform, actor: Actor) -> Iterator[str]:
    """Everything that is stored of the person, as JSON in pieces; each is a short transaction of its own.

    A token gets what it may read anyway: nothing of how the account is entered, and no e-mail address.
    """
    assert actor.user_id is not None
    with platform.transaction() as session:
        account = queries.profile_of(session, actor.user_id) or {}
    left_out = NOT_FOR_TOKENS if actor.by_token else frozenset()
    account = {name: value for name, value in account.items() if name not in left_out}
    yield f'{{"account": {_json(account)},\n"left_out": {_json(sorted(left_out))}'
    lists = ((name, each) for name, each in queries.exported(actor.user_id) if name not in left_out)
    for name, statement in lists:
        yield f',\n"{name}": ['
        last, separator = 0, "\n"
        while True:
            with platform.transaction() as session:
                rows = queries.rows_after(session, statement, last)
            for row in rows:
                yield f"{separator}{_json(row)}"
                separator = ",\n"
            if len(rows) < queries.PAGE:
                break
            last = rows[-1]["id"]
        yield "]"
    yield "}\n"


def _json(value: Any) -> str:
    return json.dumps(value, default=str, ensure_ascii=False)


def end_account(platform: Platform, actor: Actor, form: Deletion) -> None:
    """End an account: whatever names the person or opens the account is erased, results stay or go as they choose.

    Public results stay, because boards and papers refer to them; with ERASE they name nobody.
    Raises WrongPasswordError, BusyError, and ConflictError for the last admin.
    """
    assert actor.user_id is not None
    with platform.transaction() as session:
        user = queries.person(session, actor.user_id)
        known = user.password_hash if user else None
        withdrawable = queries.withdrawable(session, actor.user_id)
        conflict = deletion_conflict(actor.user_id, queries.lock_admins(session, platform.settings))
    check_owner(actor, form.password, known)
    if conflict is not None:
        raise conflict
    if form.results is Results.ERASE:
        for entry_id in withdrawable:
            _withdraw(platform, actor, entry_id)
    with platform.transaction() as session:
        _delete(session, platform.settings, actor.user_id, form.results)
    platform.cache.forget_versions()
    platform.notifier.wake_workers(Queue.MAIL)


def _withdraw(platform: Platform, actor: Actor, entry_id: int) -> None:
    try:
        entries.withdraw(platform, actor, entry_id, "the account was deleted")
    except (ConflictError, NotFoundError):  # it ended otherwise in the meantime
        return


def sweep(platform: Platform) -> int:
    """End accounts whose address was not confirmed in time; how many. Nobody can log in to them any more."""
    with platform.transaction() as session:
        due = queries.unconfirmed(session, KEEP_UNCONFIRMED, BATCH)
    for user_id in due:
        with platform.transaction() as session:
            _delete(session, platform.settings, user_id, Results.KEEP)
    return len(due)


def _delete(session: Session, settings: LoginSettings, user_id: int, results: Results) -> None:
    conflict = deletion_conflict(user_id, queries.lock_admins(session, settings))
    if conflict is not None:
        raise conflict
    user = queries.person(session, user_id)
    if user is None:
        return
    alone = queries.own_teams(session, user_id)
    memberships.leave_every_team(session, user_id)
    if results is Results.ERASE:
        for team_id in alone:
            queries.erase_team(session, team_id, erased_name(team_id, queries.team_names(session, team_id)))
    mail.tell_owner(session, Letter.ACCOUNT_DELETED, user)
    queries.erase_person(session, user)
    audit.record(session, user_id, "account.delete", f"person {user_id}", details={"results": results.value})
