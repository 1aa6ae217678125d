"""Whether this installation works: for whoever watches it."""

import uuid
from collections.abc import Callable

from fastapi import APIRouter, Response
from sqlalchemy.exc import SQLAlchemyError

from app.access import Action
from app.evaluation import queries
from app.platform import Platform
from app.web import ThePlatform, requires

router = APIRouter(tags=["operation"], dependencies=[requires(Action.READ_PUBLIC)])


@router.get("/health")
def health(platform: ThePlatform, response: Response) -> dict[str, str]:
    """Answer 200 when the database answers and storage can be written, else 503 with what does not work."""
    found = {name: "ok" if _works(check, platform) else "does not work" for name, check in CHECKS.items()}
    if set(found.values()) != {"ok"}:
        response.status_code = 503
    return found


def _works(check: Callable[[Platform], None], platform: Platform) -> bool:
    try:
        check(platform)
    except (SQLAlchemyError, OSError):
        return False
    return True


def _database(platform: Platform) -> None:
    with platform.transaction() as session:
        queries.is_reachable(session)


def _storage(platform: Platform) -> None:
    trial = platform.archives.incoming(uuid.uuid4())
    trial.touch()
    trial.unlink()


CHECKS = {"database": _database, "storage": _storage}
