"""`heldout-server backup` and `heldout-server restore`."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from app.core import logs
from app.core.settings import Settings
from app.operations import backup as operations_backup
from app.operations.command_settings import platform_of_installation
from app.operations.data_folder import is_running
from app.operations.embedded import embedded_servers
from app.platform import Platform, platform_of

console = Console(soft_wrap=True)
problems = Console(stderr=True, soft_wrap=True)


def backup(
    directory: Annotated[
        Path, typer.Argument(help="a folder on another disk; each backup gets its own folder in it")
    ],
    *,
    keep: Annotated[
        int | None, typer.Option(help="how many backups to keep; older ones are removed", min=1, metavar="N")
    ] = None,
) -> None:
    """Back up the database and all stored files of a running installation. Exits with 1 if a file is missing or damaged."""
    platform = platform_of_installation()
    taken = operations_backup.back_up(platform, directory.absolute(), datetime.now(UTC), _report, keep=keep)
    if taken.manifest.damaged:
        problems.print(
            f"{len(taken.manifest.damaged)} stored files are missing or damaged, and "
            f"{len(taken.manifest.missing)} of them are not in this backup either; {taken.folder / 'manifest.json'} lists them",
            markup=False,
        )
        raise typer.Exit(1)


def restore(
    directory: Annotated[Path, typer.Argument(help="a backup, or a folder of backups, whose newest is used")],
) -> None:
    """Restore a backup into an empty installation; if none is running, into a new data folder, which you start afterwards."""
    with _target() as platform:
        operations_backup.restore(platform, directory.absolute(), _report)


@contextmanager
def _target() -> Iterator[Platform]:
    """Yield the configured installation, or a new one whose embedded servers run until the end of the block."""
    logs.configure()
    settings = Settings.read()
    if settings.database_url or settings.broker_url or is_running(settings.data):
        yield platform_of_installation()
        return
    with embedded_servers(settings.data, report=_report) as servers:
        platform = platform_of(servers.settings_with_addresses(settings))
        yield platform
        platform.engine.dispose()


def _report(line: str) -> None:
    console.print(line, markup=False, highlight=False)
