"""Messages, instead of traces, for a program that cannot start or a command that cannot run."""

import httpx2
import psycopg
import redis
from sqlalchemy.exc import InterfaceError, OperationalError, ProgrammingError

from app.core.errors import StorageUnavailableError
from app.core.settings import SettingsError
from app.operations.backup import BackupError
from app.operations.data_folder import InstallationError
from app.operations.migrating import MigrationError
from app.operations.sampling import BaselineError
from app.operations.serving import ListenError
from app.operations.supervisor import NotReadyError

IN_WORDS = (
    BackupError, BaselineError, InstallationError, ListenError, MigrationError, NotReadyError, SettingsError,
)  # fmt: skip
UNDEFINED = {"42P01", "42703"}  # SQLSTATE of a table and of a column that does not exist


def explanation(error: Exception) -> str | None:
    """The message for an error that is not a fault of the program; None for any other."""
    if isinstance(error, IN_WORDS):
        return str(error)
    if isinstance(error, ProgrammingError) and getattr(error.orig, "sqlstate", None) in UNDEFINED:
        return "the database does not have the schema of this version; run `heldout-server migrate`"
    return _absence(error)


def _absence(error: Exception) -> str | None:
    """Which server does not answer, if that is what the error says."""
    match error:
        case OperationalError() | InterfaceError():
            return f"the database cannot be reached: {str(error.orig).strip()}"
        case psycopg.Error():
            return f"the database cannot be reached: {str(error).strip()}"
        case StorageUnavailableError():
            return f"storage cannot be used: {error.cause}"
        case redis.RedisError():
            return f"the broker cannot be reached: {error}"
        case httpx2.HTTPError():
            return f"the web server did not answer: {error or type(error).__name__}; see the web log"
    return None
