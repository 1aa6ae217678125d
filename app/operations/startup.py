"""Messages, instead of tracebacks, for a program that cannot start or a command that cannot run."""

import httpx2
import psycopg
import redis
from sqlalchemy.exc import InterfaceError, OperationalError, ProgrammingError

from app.core.errors import StorageUnavailableError
from app.core.settings import SettingsError
from app.operations.backup import BackupError
from app.operations.data_folder import InstallationError
from app.operations.migrating import MigrationError
from app.operations.sampling import SampleError
from app.operations.serving import ListenError
from app.operations.supervisor import NotReadyError

USER_ERRORS = (
    BackupError, SampleError, InstallationError, ListenError, MigrationError, NotReadyError, SettingsError,
)  # fmt: skip
UNDEFINED = {"42P01", "42703"}  # SQLSTATE of a missing table and a missing column


def message_for(error: Exception) -> str | None:
    """Return the message for an expected error; None for a bug in the program."""
    if isinstance(error, USER_ERRORS):
        return str(error)
    if isinstance(error, ProgrammingError) and getattr(error.orig, "sqlstate", None) in UNDEFINED:
        return "the database does not have the schema of this version; run `heldout-server migrate`"
    return _unavailable_server(error)


def _unavailable_server(error: Exception) -> str | None:
    """Return which server is unavailable, if the error says so."""
    match error:
        case OperationalError() | InterfaceError():
            return f"the database cannot be reached: {str(error.orig).strip()}"
        case psycopg.Error():
            return f"the database cannot be reached: {str(error).strip()}"
        case StorageUnavailableError():
            return f"the storage cannot be used: {error.cause}"
        case redis.RedisError():
            return f"the broker cannot be reached: {error}"
        case httpx2.HTTPError():
            return f"the web server did not respond: {error or type(error).__name__}; see the web log"
    return None
