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
        Path, typer.Argument(help="where each backup gets a folder of its own, on another disk")
    ],
    *,
    keep: Annotated[
        int | None, typer.Option(help="how many backups stay; the oldest are removed", min=1, metavar="N")
    ] = None,
) -> None:
    """Copy the database and all stored contents of an installation, while it runs; 1 if a content was missing or damaged."""
    platform = platform_of_installation()
    taken = operations_backup.back_up(platform, directory.absolute(), datetime.now(UTC), _report, keep=keep)
    if taken.manifest.damaged:
        problems.print(
            f"{len(taken.manifest.damaged)} contents that the database names are missing or damaged in the stores, and "
            f"{len(taken.manifest.missing)} of them are not in this backup either; {taken.folder / 'manifest.json'} lists them",
            markup=False,
        )
        raise typer.Exit(1)


def restore(
    directory: Annotated[
        Path, typer.Argument(help="a backup, or a folder of backups, of which the newest is taken")
    ],
) -> None:
    """Fill an installation that is empty with a backup; where none runs, in a new data folder, to be started afterwards."""
    with _target() as platform:
        operations_backup.restore(platform, directory.absolute(), _report)


@contextmanager
def _target() -> Iterator[Platform]:
    """The installation of the settings, or one that is made, with servers that run as long as the block."""
    logs.configure()
    settings = Settings.read()
    if settings.database_url or settings.broker_url or is_running(settings.data):
        yield platform_of_installation()
        return
    with embedded_servers(settings.data, report=_report) as servers:
        platform = platform_of(servers.applied_to(settings))
        yield platform
        platform.engine.dispose()


def _report(line: str) -> None:
    console.print(line, markup=False, highlight=False)
