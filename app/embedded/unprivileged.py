"""How root runs PostgreSQL, which refuses to be run by root."""

import os
import subprocess
from contextlib import suppress
from pathlib import Path

from app.data_folder import ANOTHER_FOLDER, user_name
from app.embedded.errors import EmbeddedError
from app.embedded.program import CLEAN_ENVIRONMENT

NOBODY = 65534

# In a user namespace root is called nobody and can still reach what is root's.
NAMESPACE = ("unshare", "--user", f"--map-user={NOBODY}", f"--map-group={NOBODY}")
# Where that is refused (most containers) or a parent folder is closed to root without its privileges, the process
# changes to the user nobody and keeps one capability, to reach its files.
CHANGE_USER = (
    "setpriv",
    f"--reuid={NOBODY}",
    f"--regid={NOBODY}",
    "--clear-groups",
    "--securebits=+no_setuid_fixup",  # without it access(2) would not count the capability
    "--inh-caps=-all,+dac_override",
    "--ambient-caps=-all,+dac_override",
)
# the owner that the files need, and the command's prefix
PREFIXES = ((0, NAMESPACE), (NOBODY, CHANGE_USER))


def unprivileged_prefix(program: Path, cluster: Path) -> list[str]:
    """What to put before a command that works on this folder; nothing for an ordinary user.

    As root the folder is given to the user that the prefix needs. Raises EmbeddedError where none works.
    """
    owner = cluster.stat().st_uid
    if owner not in ({0, NOBODY} if os.geteuid() == 0 else {os.geteuid()}):
        raise EmbeddedError(f"{cluster} belongs to {user_name(owner)}: run as that user, or {ANOTHER_FOLDER}")
    if os.geteuid() != 0:
        return []
    for owner, prefix in PREFIXES:
        with suppress(OSError):  # the owner cannot be changed, or there is no such command
            _change_owner(cluster, owner)
            if _works(prefix, program, cluster):
                return list(prefix)
    raise EmbeddedError(
        "PostgreSQL does not run as root, and this system lets root neither make a user namespace nor become "
        "nobody: run as an ordinary user, or set HELDOUT_DATABASE_URL and HELDOUT_BROKER_URL"
    )


def _change_owner(folder: Path, owner: int) -> None:
    if folder.stat().st_uid != owner:
        for path in (*folder.rglob("*"), folder):  # the folder last: its owner shows that all are changed
            os.chown(path, owner, owner, follow_symlinks=False)


def _works(prefix: tuple[str, ...], program: Path, cluster: Path) -> bool:
    trial = '"$0" --version && : > "$1/reached" && rm "$1/reached"'
    command = [*prefix, "sh", "-c", trial, str(program), str(cluster)]
    return subprocess.run(command, env=CLEAN_ENVIRONMENT, capture_output=True, check=False).returncode == 0
