"""Processes confined like containers, with their own files, user, network and process ids."""

import shlex
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from shutil import which

from tests.shared import ROOT
from tests.system.networks import Network

SYSTEM = ("bin", "sbin", "lib", "lib32", "lib64", "usr", "etc")
DEVICES = ("null", "zero", "full", "random", "urandom")
CHROOT = (
    which("chroot", path="/usr/sbin:/sbin:/usr/bin:/bin") or "chroot"
)  # may be missing from the user's PATH
CONFINED = "--clear-groups --bounding-set=-all --inh-caps=-all --ambient-caps=-all --no-new-privs"


@dataclass(frozen=True, slots=True)
class Mount:
    """A file or folder of this machine that is mounted in a container."""

    source: Path
    target: Path
    is_read_only: bool = True


@dataclass(frozen=True, slots=True)
class Container:
    """How to start a command as an engine would; its root is read-only and disappears when it ends."""

    name: str  # also of its host
    command: Sequence[str]
    user: str  # numbers of user and group, as `10001:10001`
    environment: Mapping[str, str]
    network: Network
    root: Path  # an empty folder or the root of an image
    mounts: Sequence[Mount] = ()
    temporary: Sequence[Path] = ()  # tmpfs folders
    directory: Path = field(default=ROOT)
    is_image: bool = False  # whether the root has the system's files already

    def start_command(self) -> list[str]:
        """The command line on this machine; killing its process ends the container."""
        network = ["nsenter", f"--net={self.network.path}", "--"]
        apart = ["unshare", "--mount", "--uts", "--ipc", "--pid", "--fork", "--kill-child", "--"]
        return [*network, *apart, "sh", "-euc", "\n".join([*self._preparation(), *self._start()])]

    def command_beside(self, pid: int, words: Sequence[str]) -> list[str]:
        """The command line to run another command in the container whose first process is `pid`, like `exec`."""
        places = ["--mount", "--uts", "--ipc", "--net", "--pid", f"--root=/proc/{pid}/root"]
        return ["nsenter", f"--target={pid}", *places, "--", *self._confined(words)]

    def _preparation(self) -> list[str]:
        root = shlex.quote(str(self.root))
        lines = [f"hostname {self.name}", "mount --make-rprivate /"]
        lines += (
            [f"mount --bind {root} {root}"] if self.is_image else [f"mount -t tmpfs -o mode=755 tmpfs {root}"]
        )
        lines += [f"cd {root}", "mkdir -p proc dev tmp run data"]
        lines += [] if self.is_image else self._system()
        lines += ["mount -t proc proc proc", "mount -t tmpfs -o mode=755 tmpfs dev", "mkdir -m 1777 dev/shm"]
        lines += [f"touch dev/{each} && mount --bind /dev/{each} dev/{each}" for each in DEVICES]
        for folder in self.temporary:
            inside = shlex.quote(f"{self.root}{folder}")
            lines += [f"mkdir -p {inside}", f"mount -t tmpfs -o mode=1777 tmpfs {inside}"]
        # as engines do: /tmp first, then what is in it
        for mount in sorted(self.mounts, key=lambda each: len(each.target.parts)):
            lines += _mounted(mount)
        return [*lines, f"mount -o remount,bind,ro {root}"]

    def _system(self) -> list[str]:
        """The contents of an image: the system's programs and Python's."""
        lines = []
        for name in SYSTEM:
            path = Path("/", name)
            if path.is_symlink():
                lines.append(f"ln -s {path.readlink()} {name}")
            elif path.exists():
                lines += _mounted(Mount(path, path))
        python = Path(sys.base_prefix).resolve()
        return lines if python.is_relative_to("/usr") else [*lines, *_mounted(Mount(python, python))]

    def _start(self) -> list[str]:
        """Run the command below an init process that ends when the command does, as with `init: true`."""
        command = shlex.join([CHROOT, str(self.root), *self._confined(self.command)])
        return [f"{command} & child=$!", "trap 'kill -TERM $child' TERM", "wait $child"]

    def _confined(self, words: Sequence[str]) -> list[str]:
        user, _, group = self.user.partition(":")
        variables = [f"{name}={value}" for name, value in self.environment.items()]
        become = ["setpriv", f"--reuid={user}", f"--regid={group}", *CONFINED.split()]
        return [*become, "env", "-i", "-C", str(self.directory), *variables, *words]


def _mounted(mount: Mount) -> list[str]:
    source, target = shlex.quote(str(mount.source)), shlex.quote(f".{mount.target}")
    make = "mkdir -p" if mount.source.is_dir() else "touch"
    parent = shlex.quote(f".{mount.target.parent}")
    made = f"mkdir -p {parent} && {{ test -e {target} || {make} {target}; }}"
    return [f"{made} && mount --bind {'-o ro ' if mount.is_read_only else ''}{source} {target}"]


def completed(command: Sequence[str], seconds: float) -> "subprocess.CompletedProcess[str]":
    """Run a command until it exits."""
    return subprocess.run(
        command, capture_output=True, text=True, timeout=seconds, check=False, stdin=subprocess.DEVNULL
    )
