"""What the database says about the role that asks, the time, and the ground truth it names."""

from collections.abc import Sequence

from sqlalchemy import func, select, text
from sqlalchemy.orm import Session

from app.deployment.schemas import Role
from app.models import GroundTruth

ROLE = text("""
SELECT rolname, rolsuper, rolcreaterole OR rolcreatedb OR rolreplication OR rolbypassrls,
    (SELECT count(*) FROM pg_class JOIN pg_namespace n ON n.oid = relnamespace
        WHERE nspname = 'public' AND relkind IN ('r', 'p') AND pg_has_role(relowner, 'MEMBER')),
    has_schema_privilege('public', 'CREATE'),
    ARRAY(SELECT name FROM unnest(CAST(:append_only AS text[])) AS name
        WHERE to_regclass('public.' || quote_ident(name)) IS NOT NULL
        AND has_table_privilege('public.' || quote_ident(name), 'UPDATE, DELETE, TRUNCATE'))
FROM pg_roles WHERE rolname = current_user
""")


def role(session: Session, append_only: Sequence[str]) -> Role:
    """What the role of this session may do; append_only: tables whose rows nobody may change."""
    name, is_superuser, may_manage, owned, may_create, rewritable = session.execute(
        ROLE, {"append_only": list(append_only)}
    ).one()
    return Role(name, is_superuser, may_manage, owned, may_create, tuple(rewritable))


def now(session: Session) -> float:
    """The database's time in seconds since 1970."""
    return float(session.scalar(select(func.extract("epoch", func.clock_timestamp()))) or 0)


def size(session: Session) -> int:
    """The bytes of the database, without those of PostgreSQL's log of changes."""
    return session.scalar(select(func.pg_database_size(func.current_database()))) or 0


def truth_keys(session: Session) -> list[str]:
    """The keys of all ground truth, the newest first."""
    return list(session.scalars(select(GroundTruth.key).order_by(GroundTruth.id.desc())))
