"""`heldout-server`: what whoever runs an installation types."""

import os
import sys
from collections.abc import Iterable
from datetime import timedelta
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

import scoring
from app import logs, processes
from app.accounts import service as accounts
from app.editions import service as editions
from app.editions.service import Imported, TreeImport
from app.errors import ConflictError, NotFoundError
from app.migrating import migrate as migrate_database
from app.migrating import write_migration
from app.models import Disclosure, Role
from app.platform import Platform, platform_of
from app.rescoring import service as rescoring
from app.settings import Settings, installation_settings

app = typer.Typer(no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False)
console = Console()
problems = Console(stderr=True, soft_wrap=True)


def main() -> None:
    """Run the command line."""
    app()


@app.callback()
def _about() -> None:
    """The heldout submission server."""


@app.command()
def run(
    *, once: Annotated[bool, typer.Option(help="stop when the sample board is complete")] = False
) -> None:
    """Start everything on this machine, load the sample edition, and serve until Ctrl-C."""
    from app.installation import run_installation  # noqa: PLC0415 - the embedded servers are not needed elsewhere

    sys.exit(run_installation(console, once=once))


@app.command()
def serve() -> None:
    """Start a web server on the database and broker of the settings."""
    os.execv(sys.executable, processes.web_command(Settings()))  # noqa: S606 - becomes that process


@app.command()
def worker() -> None:
    """Start a worker on the database and broker of the settings."""
    os.execv(sys.executable, processes.worker_command(Settings()))  # noqa: S606 - becomes that process


@app.command()
def migrate() -> None:
    """Bring the database to the schema of this version."""
    migrate_database(_platform().engine)


@app.command()
def migration(what: Annotated[str, typer.Argument(help="what changes, e.g. 'add method summary'")]) -> None:
    """Write a migration from the difference between models and database; read it before you commit it."""
    write_migration(_platform().engine, what)


@app.command("import")
def import_tree(
    tree: Annotated[
        Path, typer.Argument(help="a development-kit tree: Annotations, ImageSets, …", exists=True)
    ],
    *,
    edition: Annotated[str, typer.Option(help="code in addresses, e.g. VOC2007", metavar="CODE")],
    phase: Annotated[str, typer.Option(help="the image set, e.g. test")],
    title: Annotated[str | None, typer.Option(help="the edition's name on pages")] = None,
    protocol: Annotated[str | None, typer.Option(help=f"one of {', '.join(scoring.PROTOCOLS)}")] = None,
    disclosure: Annotated[
        Disclosure, typer.Option(help="full where the annotation is public")
    ] = Disclosure.ROUNDED,
    quota: Annotated[
        int | None, typer.Option(help="results per team and competition in a week", min=1)
    ] = None,
    closes_in: Annotated[int | None, typer.Option(help="days until the phase closes", min=1)] = None,
    limit: Annotated[
        list[str] | None,
        typer.Option(help="of an archive, e.g. unpacked=2147483648; repeatable", metavar="NAME=NUMBER"),
    ] = None,
) -> None:
    """Load a tree into a phase: public description and hidden annotation apart; all of it or nothing."""
    try:
        wanted = TreeImport(
            tree=tree,
            edition=edition,
            image_set=phase,
            title=title,
            protocol=protocol,
            disclosure=disclosure,
            quota=quota,
            closes_in=timedelta(days=closes_in) if closes_in else None,
            limits=_numbers(limit or ()),
        )
        done = editions.import_tree(_platform(), wanted)
    except scoring.TreeError as error:
        for problem in error.problems:
            problems.print(str(problem), markup=False, highlight=False)
        problems.print(f"{len(error.problems)} problems; nothing was loaded")
        raise typer.Exit(1) from None
    except ValueError as error:
        problems.print(str(error), markup=False)
        raise typer.Exit(1) from None
    _tell_what_was_loaded(done, wanted)


def _numbers(words: Iterable[str]) -> dict[str, int]:
    """Limits as they are typed; raises ValueError for what is none."""
    found = {}
    for word in words:
        name, _, number = word.partition("=")
        if not (number.isascii() and number.isdigit()):
            raise ValueError(f"--limit takes NAME=NUMBER, such as unpacked=2147483648, not {word!r}")
        found[name] = int(number)
    scoring.Limits().changed(found)
    return found


def _tell_what_was_loaded(done: Imported, wanted: TreeImport) -> None:
    edition, phase = wanted.edition, wanted.image_set
    console.print(statistics_table(done.statistics, f"{edition} {phase}"))
    unchanged = "its limits are as given:" if wanted.limits else "nothing changed:"
    state = "loaded" if done.is_new else f"was there already, {unchanged}"
    console.print(f"{state} ground truth version {done.version} of {edition} {phase}", highlight=False)
    if done.is_new and done.version > 1:
        console.print(
            f"the boards show version {done.version - 1} until `heldout-server rescore --edition {edition} --phase {phase}`"
        )


@app.command()
def rescore(
    *,
    edition: Annotated[str, typer.Option(help="code of the edition", metavar="CODE")],
    phase: Annotated[str, typer.Option(help="the image set, e.g. test")],
    entry: Annotated[int | None, typer.Option(help="one entry instead of the whole phase")] = None,
) -> None:
    """Score a phase, or one entry, again; the boards switch when all is through."""
    platform = _platform()
    try:
        number = rescoring.request(platform, editions.phase_page(platform, edition, phase).id, entry_id=entry)
    except (NotFoundError, ConflictError) as error:
        problems.print(str(error), markup=False)
        raise typer.Exit(1) from None
    platform.doorbell.flush(5)
    console.print(f"re-scoring {number} is queued; the boards switch all at once when it is through")


@app.command()
def organiser_link() -> None:
    """Print a link that makes whoever opens it first an organiser."""
    platform = _platform()
    console.print(
        f"{platform.settings.address}/first-organiser/{accounts.create_organiser_link(platform)}",
        soft_wrap=True,
    )


@app.command()
def grant(
    email: Annotated[str, typer.Argument(help="address of the account")],
    role: Annotated[Role, typer.Argument(help="what the person becomes")],
) -> None:
    """Make a person a participant, an organiser or an admin."""
    if not accounts.grant(_platform(), email, role):
        problems.print(f"no account has the address {email}", markup=False)
        raise typer.Exit(1)


def statistics_table(statistics: scoring.Statistics, title: str) -> Table:
    """The objects of a set per class, as the development kits' documents print them."""
    table = Table("class", title=title)
    for column in ("images", "objects", "difficult"):
        table.add_column(column, justify="right")
    for row in statistics.rows:
        table.add_row(row.name, str(row.images), str(row.objects), str(row.difficult))
    total = statistics.total
    table.add_section()
    table.add_row("total", str(total.images), str(total.objects), str(total.difficult))
    return table


def _platform() -> Platform:
    logs.configure()
    try:
        return platform_of(installation_settings())
    except ValueError as error:
        problems.print(str(error), markup=False)
        raise typer.Exit(1) from None


if __name__ == "__main__":
    main()
