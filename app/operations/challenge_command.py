"""`heldout-server challenge`: settings of challenges as files."""

import sys
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from app.core.access import Actor
from app.core.errors import DomainError, NotFoundError
from app.models import Role
from app.operations.command_settings import platform_of_installation
from app.organising import challenge_file, setting_files
from app.organising.challenge_file import FileError
from app.organising.setting_files import FileOutcome
from app.people import sessions
from app.platform import Platform

app = typer.Typer(
    no_args_is_help=True, help="Export settings of challenges, and create or change challenges by them."
)
console = Console(soft_wrap=True)
problems = Console(stderr=True, soft_wrap=True)
SERVER = Actor(user_id=0, role=Role.ADMIN, has_second_factor=True)  # who has a shell reads everything


@app.command()
def export(code: Annotated[str, typer.Argument(help="code of the challenge")]) -> None:
    """Print the settings of a challenge as YAML, without annotation, pictures and people."""
    platform = platform_of_installation()
    try:
        text = challenge_file.written(setting_files.exported(platform, SERVER, code))
    except NotFoundError as error:
        problems.print(str(error), markup=False)
        raise typer.Exit(1) from None
    sys.stdout.write(text)


@app.command()
def apply(
    file: Annotated[Path, typer.Argument(help="settings in YAML or JSON", exists=True, dir_okay=False)],
    *,
    account: Annotated[
        str,
        typer.Option(help="address of the account that owns a new challenge and that the audit log names"),
    ],
    yes: Annotated[bool, typer.Option("--yes", help="change a challenge without asking")] = False,
    annotation_is_public: Annotated[
        bool,
        typer.Option(
            "--annotation-is-public", help="the annotation of phases that are to show everything is public"
        ),
    ] = False,
) -> None:
    """Create the draft that a file describes, or show in what a challenge differs from it, ask, and change that."""
    platform = platform_of_installation()
    with file.open("rb") as stream:
        content = stream.read(challenge_file.LARGEST + 1)
    try:
        actor = _actor(platform, account)
        outcome = setting_files.read(platform, actor, content)
        if not outcome.is_new:
            _show(outcome, f"differences of {outcome.code}")
            if outcome.can_change and (yes or typer.confirm("Change the challenge?")):
                outcome = setting_files.read(
                    platform,
                    actor,
                    content,
                    confirmed=outcome.seen,
                    annotation_is_public=annotation_is_public,
                )
                _show(outcome, "not changed")
    except FileError as error:
        for each in error.problems:
            problems.print(f"{file}: {each.sentence}", markup=False)
        raise typer.Exit(1) from None
    except DomainError as error:
        problems.print(str(error), markup=False)
        raise typer.Exit(1) from None
    platform.notifier.flush(5)
    if outcome.is_new:
        console.print(
            f"{platform.settings.address}/organise/new/{outcome.code} is a draft; send its annotation there"
        )
    elif outcome.differences and not outcome.can_change:
        raise typer.Exit(1)


def _actor(platform: Platform, address: str) -> Actor:
    """The account in whose name the server does what its operator asks for."""
    with platform.snapshot() as session:
        user = sessions.user_of_email(session, address)
        found = sessions.actor_of(session, user.id) if user else None
    if found is None:
        raise NotFoundError(f"no account has the address {address}")
    return Actor(
        user_id=found.user_id, name=found.name, email=found.email, is_verified=True, role=Role.ADMIN,
        has_second_factor=True,
    )  # fmt: skip


def _show(outcome: FileOutcome, title: str) -> None:
    if not outcome.differences:
        console.print(f"{outcome.code} is as the file says")
        return
    table = Table("setting", "now", "in the file", "stays because", title=title)
    for each in outcome.differences:
        table.add_row(each.where, each.now, each.wanted, each.refusal)
    console.print(table, markup=False)
