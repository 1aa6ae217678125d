"""`heldout-server import`: its options and its output."""

from collections.abc import Iterable
from datetime import timedelta
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

import heldout_scoring
from app.challenges.phase_rules import parse_quota
from app.images.making import ImportedImages
from app.intake import importing
from app.intake.importing import NONE, Imported, NoImages, TreeImport, parse_date
from app.models import Disclosure, ImageMode, Quota
from app.operations.command_settings import platform_of_installation
from app.web.formats import plural

console = Console(soft_wrap=True)
problems = Console(stderr=True, soft_wrap=True)


class Images(StrEnum):
    """How to import the images of a tree."""

    LINK = "link"
    COPY = "copy"
    NONE = "none"


IMAGES: dict[Images, ImageMode | NoImages] = {
    Images.LINK: ImageMode.LINK,
    Images.COPY: ImageMode.COPY,
    Images.NONE: NoImages.NONE,
}
NO_QUOTA = "0"
NEVER = "never"


def import_tree(
    tree: Annotated[
        Path,
        typer.Argument(
            help="a development-kit tree (Annotations, ImageSets, …), COCO's instances.json, or what else tools export",
            exists=True,
        ),
    ],
    *,
    challenge: Annotated[str, typer.Option(help="code in URLs, e.g. VOC2007", metavar="CODE")],
    phase: Annotated[str, typer.Option(help="the image set, e.g. test")],
    title: Annotated[str | None, typer.Option(help="the challenge's name on pages")] = None,
    protocol: Annotated[
        str | None, typer.Option(help=f"one of {', '.join(heldout_scoring.PROTOCOLS)}")
    ] = None,
    disclosure: Annotated[
        Disclosure | None,
        typer.Option(
            help="full if the annotation is public, else classes, mean, ladder or 'at close'; by default classes",
            show_default=False,
        ),
    ] = None,
    quota: Annotated[
        list[str] | None,
        typer.Option(
            help="results per task and number of days, such as 2/7, or in total, such as 30/all, for each team and each person;"
            " repeatable; by default 2/7 and 30/365 if the annotation is held out; 0: no quota",
            metavar="RESULTS/DAYS",
        ),
    ] = None,
    opens: Annotated[str | None, typer.Option(help="by default now", metavar="2027-01-31T12:00Z")] = None,
    closes: Annotated[
        str | None, typer.Option(help="a date, or 'never'", metavar="2027-03-31T12:00Z")
    ] = None,
    closes_in: Annotated[int | None, typer.Option(help="days until the phase closes", min=1)] = None,
    grace_minutes: Annotated[
        int | None,
        typer.Option(
            help="minutes after the close to confirm an upload started before; by default 60", min=0
        ),
    ] = None,
    embargo: Annotated[
        bool | None,
        typer.Option(
            help="show results only to their team and organisers until the phase is over",
            show_default=False,
        ),
    ] = None,
    details_at_close: Annotated[
        bool | None,
        typer.Option(
            help="show curves, intervals and counts of a held-out phase once it is over", show_default=False
        ),
    ] = None,
    only_complete: Annotated[
        bool | None,
        typer.Option(
            help="show class values only for complete results until the phase is over",
            show_default=False,
        ),
    ] = None,
    limit: Annotated[
        list[str] | None,
        typer.Option(
            help="a limit on archives, e.g. max_unpacked_bytes=2147483648; repeatable", metavar="NAME=NUMBER"
        ),
    ] = None,
    images: Annotated[
        Images | None,
        typer.Option(
            help="the images: link uses them in their folder, which workers must be able to read; copy stores them; none removes"
            " them; by default link, or as before",
            show_default=False,
        ),
    ] = None,
    image_folder: Annotated[
        Path | None,
        typer.Option(help="where the images are; by default in the tree", exists=True, file_okay=False),
    ] = None,
    allow_public_copy: Annotated[
        bool,
        typer.Option(
            "--allow-public-copy",
            help="load as public an annotation that another phase keeps hidden; this is recorded in the audit log",
            show_default=False,
        ),
    ] = False,
) -> None:
    """Load a tree or COCO's JSON into a phase, all or nothing; the hidden annotation is stored separately.

    For an existing phase, the given options change its settings and the others stay.
    """
    try:
        request = TreeImport(
            tree=tree,
            challenge=challenge,
            image_set=phase,
            title=title,
            protocol=protocol,
            disclosure=disclosure,
            quotas=_quotas(quota) if quota else None,
            opens_at=parse_date(opens) if opens else None,
            closes_at=(NONE if closes == NEVER else parse_date(closes)) if closes else None,
            closes_in=timedelta(days=closes_in) if closes_in else None,
            grace=timedelta(minutes=grace_minutes) if grace_minutes is not None else None,
            embargo=embargo,
            details_at_close=details_at_close,
            only_complete=only_complete,
            limits=_numbers(limit or ()),
            images=IMAGES[images] if images else None,
            image_folder=image_folder,
            allow_public_copy=allow_public_copy,
        )
        imported = importing.import_tree(platform_of_installation(), request)
    except heldout_scoring.TreeError as error:
        for problem in error.problems:
            problems.print(str(problem), markup=False, highlight=False)
        problems.print(f"{plural(len(error.problems), 'problem')}; nothing was loaded")
        raise typer.Exit(1) from None
    except ValueError as error:
        problems.print(str(error), markup=False, highlight=False)
        raise typer.Exit(1) from None
    _print_summary(imported, challenge, phase)


def _quotas(words: list[str]) -> tuple[Quota, ...]:
    return () if words == [NO_QUOTA] else tuple(map(parse_quota, words))


def _numbers(words: Iterable[str]) -> dict[str, int]:
    """Parse NAME=NUMBER options. Raises ValueError."""
    found = {}
    for option in words:
        name, _, number = option.partition("=")
        if not (number.isascii() and number.isdigit()):
            raise ValueError(
                f"--limit takes NAME=NUMBER, such as max_unpacked_bytes=2147483648, not {option!r}"
            )
        found[name] = int(number)
    heldout_scoring.Limits().changed(found)
    return found


def _print_summary(imported: Imported, challenge: str, phase: str) -> None:
    console.print(statistics_table(imported.statistics, f"{challenge} {phase}"))
    changed = "rules updated:" if imported.changes else "nothing changed:"
    state = "loaded" if imported.is_new else f"already imported, {changed}"
    _print(f"{state} ground truth version {imported.version} of {challenge} {phase}")
    for change in imported.changes:
        _print(f"{change.name}: {change.before} → {change.after}")
    for warning in imported.warnings:
        _print(f"WARNING: {warning}")
    for number, reason in imported.not_offered.items():
        _print(f"comp{number} is not offered: {reason}")
    if imported.pictures_removed:
        _print("removed the images of the phase and everything derived from them")
    if imported.pictures is not None:
        _print_pictures(imported.pictures)
    if imported.shown != imported.version and imported.new_boards:
        _print(f"new boards by then: {', '.join(f'comp{number}' for number in imported.new_boards)}")
    if imported.shown != imported.version:
        what = "the boards and pages of images show" if imported.pictures else "the boards show"
        _print(
            f"{what} version {imported.shown} until"
            f" `heldout-server rescore --challenge {challenge} --phase {phase}`"
        )


def _print_pictures(taken: ImportedImages) -> None:
    where = f"linked in {taken.folder}, where workers read them" if taken.mode is ImageMode.LINK else "copied"
    _print(
        f"{taken.files} of {taken.images} images are {where}; {taken.changed} of them are new or have changed"
    )
    for problem in taken.problems:
        _print(f"WARNING: not shown: {problem}")
    if taken.more_problems:
        _print(f"WARNING: {taken.more_problems} more images cannot be shown")


def _print(line: str) -> None:
    console.print(line, markup=False, highlight=False)


def statistics_table(statistics: heldout_scoring.Statistics, title: str) -> Table:
    """Return a table of the objects per class, as in the development kits' documentation."""
    table = Table("class", title=title)
    for column in ("images", "objects", "difficult"):
        table.add_column(column, justify="right")
    for row in statistics.rows:
        table.add_row(row.name, str(row.images), str(row.objects), str(row.difficult))
    total = statistics.total
    table.add_section()
    table.add_row("total", str(total.images), str(total.objects), str(total.difficult))
    return table
