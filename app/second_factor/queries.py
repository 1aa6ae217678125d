"""Second factors in the database."""

from datetime import datetime

from sqlalchemy import delete, func, select, update
from sqlalchemy.orm import Session

from app.models import RecoveryCode, SecondFactor


def factor_of(session: Session, user_id: int) -> SecondFactor | None:
    """A person's second factor, locked until the end of the transaction; also one that is not in use yet."""
    return session.scalar(select(SecondFactor).where(SecondFactor.user_id == user_id).with_for_update())


def now(session: Session) -> datetime:
    """The time of the database."""
    return session.scalars(select(func.now())).one()


def take_step(session: Session, user_id: int, step: int) -> bool:
    """Use the code of this step up; false where it or a later one was used before."""
    statement = (
        update(SecondFactor)
        .where(SecondFactor.user_id == user_id, SecondFactor.last_step < step)
        .values(last_step=step)
        .returning(SecondFactor.user_id)
    )
    return session.scalar(statement) is not None


def take_recovery_code(session: Session, user_id: int, code_hash: bytes) -> bool:
    """Use a recovery code up; whether there was such a code."""
    statement = (
        update(RecoveryCode)
        .where(
            RecoveryCode.user_id == user_id,
            RecoveryCode.code_hash == code_hash,
            RecoveryCode.used_at.is_(None),
        )
        .values(used_at=func.now())
        .returning(RecoveryCode.id)
    )
    return session.scalar(statement) is not None


def unused_codes(session: Session, user_id: int) -> int:
    """How many recovery codes of a person are left."""
    statement = select(func.count()).where(RecoveryCode.user_id == user_id, RecoveryCode.used_at.is_(None))
    return session.scalars(statement).one()


def delete_codes(session: Session, user_id: int) -> None:
    """Delete all recovery codes of a person."""
    session.execute(delete(RecoveryCode).where(RecoveryCode.user_id == user_id))


def delete_factor(session: Session, user_id: int) -> bool:
    """Delete a person's second factor with its codes; whether there was one in use."""
    delete_codes(session, user_id)
    deleted = delete(SecondFactor).where(SecondFactor.user_id == user_id).returning(SecondFactor.confirmed_at)
    return session.scalar(deleted) is not None
