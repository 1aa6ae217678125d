"""`heldout-server check`: whether a deployment is set up as it should be, as a table."""

from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from app import logs
from app.command_settings import complete
from app.data_folder import installation_settings
from app.deployment import service
from app.deployment.schemas import Check, Part, State
from app.platform import platform_of
from app.processes import NOT_FOR_WEB, NOT_FOR_WORKERS
from app.settings import Settings

NOT_FOR = {Part.WEB: NOT_FOR_WEB, Part.WORKER: NOT_FOR_WORKERS}
STYLES = {State.OK: "green", State.FAILED: "bold red", State.SKIPPED: "yellow"}

console = Console()


def check(
    part: Annotated[
        Part | None,
        typer.Argument(
            help="whose settings these are; by default a worker's where a place of ground truth is set",
            show_default=False,
        ),
    ] = None,
) -> None:
    """Check a deployment from the settings it is given; exits with 1 if anything is wrong, and says what to do about it."""
    logs.configure()
    own = Settings.read()
    settings = complete(installation_settings(own))
    knows_truth = settings.private_storage is not None or settings.s3_private_bucket is not None
    part = part or (Part.WORKER if knows_truth else Part.WEB)
    is_embedded = own.database_url is None  # found by its folder: the settings are of all its processes
    if is_embedded:
        settings = settings.model_copy(update=dict.fromkeys(NOT_FOR[part]))
    platform = platform_of(settings)
    found = list(service.checks(platform, part, is_embedded=is_embedded))
    platform.engine.dispose()
    console.print(_table(part, found))
    for line in (line for each in found for line in each.listed):
        console.print(line, markup=False, highlight=False, soft_wrap=True)
    if failures := [each.name for each in found if each.state is State.FAILED]:
        console.print(f"{len(failures)} of {len(found)} checks failed: {', '.join(failures)}", soft_wrap=True)
        raise typer.Exit(1)
    console.print(f"{len(found)} checks, none failed")


def _table(part: Part, found: list[Check]) -> Table:
    table = Table(title=f"the deployment as a {part} sees it", title_justify="left")
    table.add_column("check", no_wrap=True)
    table.add_column("result", no_wrap=True)
    table.add_column("what was found", overflow="fold")
    for each in found:
        text = each.finding if not each.advice else f"{each.finding}.\nTo do: {each.advice}."
        table.add_row(each.name, f"[{STYLES[each.state]}]{each.state}[/]", escape(text))
    return table
