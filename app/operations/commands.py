"""The command line `heldout-server`."""

import enum
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from socket import gethostname
from typing import Annotated

import httpx2
import typer
from rich.console import Console

from app.challenges import challenges
from app.core.errors import ConflictError, NotFoundError
from app.core.settings import Settings
from app.evaluation import rescoring
from app.intake import keys
from app.models import Service
from app.operations import challenge_command, health, processes
from app.operations.backup_commands import backup, restore
from app.operations.command_settings import platform_of_installation, require_servers
from app.operations.data_folder import installation_settings
from app.operations.deployment import check
from app.operations.import_command import import_tree
from app.operations.migrating import migrate as migrate_database
from app.operations.migrating import require_schema, write_migration
from app.organising import roles
from app.organising.roles import Grant
from app.people import second_factor
from app.platform import Platform, platform_of

app = typer.Typer(no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False)
console = Console()
problems = Console(stderr=True, soft_wrap=True)


def main() -> None:
    """Run the command line; an expected error prints one line on standard error and exits with 1."""
    from app.operations.startup import message_for  # noqa: PLC0415 - needed only when a command fails

    os.umask(0o077)  # also for the processes that a command starts

    try:
        app(prog_name="heldout-server")  # however it was started
    except Exception as error:
        message = message_for(error)
        if message is None:
            raise
        problems.print(message, markup=False, highlight=False)
        sys.exit(1)


@app.callback()
def _about() -> None:
    """The heldout submission server."""


@app.command()
def run(
    *, once: Annotated[bool, typer.Option(help="stop once the sample boards are complete")] = False
) -> None:
    """Start everything on this machine, load the sample challenge, and serve until Ctrl-C."""
    from app.operations.installation import run_installation  # noqa: PLC0415 - no other command needs the embedded servers

    sys.exit(run_installation(console, once=once))


@app.command()
def serve() -> None:
    """Start the web server on the database and broker of the settings."""
    from app.operations.processes import serve as serve_web  # noqa: PLC0415 - no other command needs it

    settings = require_servers(Settings.read())
    require_schema(settings)
    _print_setup_code(platform_of(settings))
    serve_web(settings, console)


@app.command()
def worker() -> None:
    """Start a worker on the database and broker of the settings."""
    settings = require_servers(Settings.read())
    require_schema(settings)
    os.execv(sys.executable, processes.worker_command(settings))  # noqa: S606 - becomes that process


@app.command()
def sender() -> None:
    """Start a sender, which sends mail and calls webhooks."""
    require_schema(require_servers(Settings.read()))
    os.execv(sys.executable, processes.sender_command())  # noqa: S606 - becomes that process


@app.command()
def beat() -> None:
    """Run the sweeper, which finds lost runs, on its own; every worker also has one."""
    require_schema(require_servers(Settings.read()))
    os.execv(sys.executable, processes.sweeper_command())  # noqa: S606 - becomes that process


class Process(enum.StrEnum):
    """A part of an installation that runs as its own process."""

    WEB = "web"
    WORKER = "worker"
    SENDER = "sender"
    BEAT = "beat"


@app.command()
def alive(part: Annotated[Process, typer.Argument(help="what runs in this container")]) -> None:
    """Exit with 0 if this part is running; for container health checks."""
    settings = require_servers(Settings.read())
    if part is Process.WEB:
        httpx2.get(f"{settings.local_address}/health", timeout=5).raise_for_status()
        return
    platform = platform_of(settings)
    if part is Process.BEAT:
        works = health.is_swept(platform)
    else:
        works = health.is_alive(platform, gethostname(), Service(part.value))
    if not works:
        problems.print(f"{part} is not running")
        raise typer.Exit(1)


@app.command()
def migrate() -> None:
    """Migrate the database to the schema of this version, and grant the application its privileges."""
    migrate_database(installation_settings(Settings.read()))


@app.command()
def migration(
    what: Annotated[str, typer.Argument(help="what it changes, e.g. 'add method summary'")],
) -> None:
    """Generate a migration from the difference between models and database; review it before you commit it."""
    write_migration(installation_settings(Settings.read()), what)


app.command("import")(import_tree)
app.add_typer(challenge_command.app, name="challenge")
app.command()(check)
app.command()(backup)
app.command()(restore)


@app.command()
def rescore(
    *,
    challenge: Annotated[str, typer.Option(help="code of the challenge", metavar="CODE")],
    phase: Annotated[str, typer.Option(help="the image set, e.g. test")],
    result: Annotated[int | None, typer.Option(help="id of one result, instead of the whole phase")] = None,
) -> None:
    """Score a phase or one result again; the boards switch when every run is scored, and those of a new ground truth when an
    organiser has published the scores. A result without a score is queued again.
    """
    platform = platform_of_installation()
    with _short_errors():
        phase_id = challenges.phase_page(platform, challenge, phase).id
        if result is None:
            rescore_id: int | None = rescoring.rescore_phase(platform, None, phase_id)
        else:
            rescore_id = rescoring.rescore_one_result(platform, None, result, phase_id)
    platform.notifier.flush(5)
    if rescore_id is None:
        console.print(f"result {result} is queued; it appears on its board once it is scored")
    else:
        when = (
            "when it is complete"
            if rescoring.is_confirmed(platform, rescore_id)
            else f"when an organiser has looked at its preview, /organise/rescores/{rescore_id}, and published it"
        )
        console.print(f"re-scoring {rescore_id} is queued; all boards switch at once {when}")


@app.command()
def rotate_intake_key() -> None:
    """Add a key with which data sets are encrypted from now on; older ones go once nothing needs them."""
    platform = platform_of_installation()
    console.print(f"data sets are encrypted for {keys.rotate(platform)} from now on", soft_wrap=True)


@app.command()
def organiser_link(
    challenge: Annotated[
        str | None, typer.Argument(help="code of the challenge; optional if there is only one")
    ] = None,
) -> None:
    """Print a link that makes the first person who uses it an organiser of a challenge."""
    platform = platform_of_installation()
    with _short_errors():
        token = roles.create_organiser_link(platform, challenge)
    console.print(f"{platform.settings.address}/role-links/{token}", soft_wrap=True)


@app.command()
def admin_link() -> None:
    """Print a link that makes the first person who uses it an admin."""
    platform = platform_of_installation()
    console.print(
        f"{platform.settings.address}/role-links/{roles.create_admin_link(platform)}", soft_wrap=True
    )


@app.command()
def setup_code() -> None:
    """Print the address at which a server without an admin is set up."""
    if not _print_setup_code(platform_of_installation()):
        problems.print("this server is set up: it has an admin")
        raise typer.Exit(1)


def _print_setup_code(platform: Platform) -> bool:
    """Print it unless there is an admin; return whether it was printed."""
    code = roles.create_setup_code(platform)
    if code is not None:
        console.print(f"set up this server: {platform.settings.address}/setup?code={code}", soft_wrap=True)
    platform.engine.dispose()
    return code is not None


@app.command()
def grant(
    email: Annotated[str, typer.Argument(help="address of the account")],
    role: Annotated[Grant, typer.Argument(help="the new role")],
    challenge: Annotated[
        str | None, typer.Option(help="the challenge to organise, or to stop organising", metavar="CODE")
    ] = None,
) -> None:
    """Make a person an admin, an organiser of a challenge, or a participant who is neither."""
    with _short_errors():
        is_known = roles.grant(platform_of_installation(), email, role, challenge)
    if not is_known:
        problems.print(f"no account has the address {email}", markup=False)
        raise typer.Exit(1)


@app.command()
def remove_second_factor(email: Annotated[str, typer.Argument(help="address of the account")]) -> None:
    """Remove the second factor of a person who has lost it, and end their sessions."""
    if not second_factor.remove_for(platform_of_installation(), email):
        problems.print(f"no account has the address {email}", markup=False)
        raise typer.Exit(1)


@contextmanager
def _short_errors() -> Iterator[None]:
    """Print an expected error as one line and exit with 1."""
    try:
        yield
    except (NotFoundError, ConflictError) as error:
        problems.print(str(error), markup=False)
        raise typer.Exit(1) from None


if __name__ == "__main__":  # for `heldout-server` scripts installed before `python -m app` existed
    main()
