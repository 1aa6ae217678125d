"""Later versions of the program: the same code with further migrations."""

import re
import shutil
from pathlib import Path

from alembic.script import ScriptDirectory

from tests.shared import ROOT

EXAMPLE = Path(__file__).parent / "system" / "later_migrations" / "2027_01_15_add_note_of_run.py"
FIRST = "4a7be90c15d2"  # the schema of the first release


def head() -> str:
    """The newest migration of this version."""
    return str(ScriptDirectory(str(ROOT / "migrations")).get_current_head())


def later_version(folder: Path, *migrations: str) -> Path:
    """A checkout whose migrations go on after those of this version, in this order; it is run with PYTHONPATH.

    Its library is the one that is installed, of this version.
    """
    folder.mkdir()
    for name in ("app", "sample", "worker", "static", "templates", "alembic.ini"):
        (folder / name).symlink_to(ROOT / name)
    shutil.copytree(ROOT / "migrations", folder / "migrations")
    before = head()
    for migration in migrations:
        text = re.sub(r"^down_revision = .*$", f'down_revision = "{before}"', migration, flags=re.MULTILINE)
        [before] = re.findall(r'^revision = "(\w+)"$', text, re.MULTILINE)
        (folder / "migrations" / "versions" / f"{before}.py").write_text(text)
    return folder


def migration(revision: str, statements: str, *, contract: bool = False) -> str:
    """The text of a migration that consists of these statements."""
    lines = "".join(f"    {line}\n" for line in statements.splitlines())
    head_lines = (
        f'import sqlalchemy as sa\nfrom alembic import op\nrevision = "{revision}"\ndown_revision = None\n'
    )
    marked = "contract = True\n" if contract else ""
    return f"{head_lines}{marked}\n\ndef upgrade() -> None:\n{lines}"
