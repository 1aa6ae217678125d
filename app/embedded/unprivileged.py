"""How root runs PostgreSQL, which refuses to be run by root."""

import os
import subprocess
from contextlib import suppress
from pathlib import Path

from app.embedded.errors import EmbeddedError
from app.embedded.program import PLAIN

NOBODY = 65534

# In a user namespace root is called nobody and can still reach what is root's.
NAMESPACE = ("unshare", "--user", f"--map-user={NOBODY}", f"--map-group={NOBODY}")
# Where that is refused (most containers) or a parent folder is closed to root without its privileges, the process
# becomes nobody in earnest and keeps one capability, to reach its files.
NOBODY_IN_EARNEST = (
    "setpriv",
    f"--reuid={NOBODY}",
    f"--regid={NOBODY}",
    "--clear-groups",
    "--securebits=+no_setuid_fixup",  # without it access(2) would not count the capability
    "--inh-caps=-all,+dac_override",
    "--ambient-caps=-all,+dac_override",
)
# the owner that the files need, and the words before a command
WAYS = ((0, NAMESPACE), (NOBODY, NOBODY_IN_EARNEST))


def way_to_run(program: Path, cluster: Path) -> list[str]:
    """The words before a command that works on this folder; none for an ordinary user.

    As root the folder is given to the user that the chosen way needs. Raises EmbeddedError where there is no way.
    """
    owner = cluster.stat().st_uid
    if owner not in ({0, NOBODY} if os.geteuid() == 0 else {os.geteuid()}):
        raise EmbeddedError(f"{cluster} belongs to user {owner}: run as that user, or name another folder")
    if os.geteuid() != 0:
        return []
    for owner, words in WAYS:
        with suppress(OSError):  # the owner cannot be changed, or there is no such command
            _give(cluster, owner)
            if _works(words, program, cluster):
                return list(words)
    raise EmbeddedError(
        "PostgreSQL does not run as root, and this system lets root neither make a user namespace nor become "
        "nobody: run as an ordinary user, or set HELDOUT_DATABASE_URL and HELDOUT_BROKER_URL"
    )


def _give(folder: Path, owner: int) -> None:
    if folder.stat().st_uid != owner:
        for path in (*folder.rglob("*"), folder):  # the folder last: it tells that all is done
            os.chown(path, owner, owner, follow_symlinks=False)


def _works(words: tuple[str, ...], program: Path, cluster: Path) -> bool:
    trial = '"$0" --version && : > "$1/reached" && rm "$1/reached"'
    command = [*words, "sh", "-c", trial, str(program), str(cluster)]
    return subprocess.run(command, env=PLAIN, capture_output=True, check=False).returncode == 0
