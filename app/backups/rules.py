"""How backups are named, described and kept."""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from datetime import datetime
from pathlib import Path

from app.backups.schemas import FORMAT, BackupError, Manifest

DATABASE, SUMS, MANIFEST = Path("database.dump"), Path("SHA256SUMS"), Path("manifest.json")
PARTIAL = ".partial"  # ending of a folder that is not whole
NAME = re.compile(r"\d{4}-\d\d-\d\dT\d{6}Z")
SUM = re.compile(
    r"(?P<digest>[0-9a-f]{64})  (?P<path>[a-z]+/[0-9a-f]{2}/[0-9a-f]{64}(-[0-9a-f]{32})?|database\.dump)"
)
NOT_INCLUDED = (
    "passwords and other secrets of the installation, such as secrets.json of its data folder",
    "the broker, which holds hints that workers do without, and counts of requests",
    "uploads whose bytes were still arriving, which are sent again from the start",
    "mail in the data folder, and logs",
)


def name_of(moment: datetime) -> str:
    """The name of a backup's folder; moment: in UTC.

    >>> name_of(datetime(2027, 3, 31, 2, 15))
    '2027-03-31T021500Z'
    """
    return moment.strftime("%Y-%m-%dT%H%M%SZ")


def is_name(name: str) -> bool:
    """Whether a folder of this name is a backup that is whole.

    >>> is_name("2027-03-31T021500Z"), is_name("2027-03-31T021500Z.partial"), is_name("lost+found")
    (True, False, False)
    """
    return NAME.fullmatch(name) is not None


def is_partial(name: str) -> bool:
    """Whether a folder of this name was left by a backup that was interrupted."""
    return name.endswith(PARTIAL) and is_name(name.removesuffix(PARTIAL))


def beyond(names: Iterable[str], keep: int | None) -> list[str]:
    """Which backups to remove so that the newest `keep` stay.

    >>> beyond(["2027-03-31T021500Z", "2027-03-29T021500Z", "2027-03-30T021500Z"], 2)
    ['2027-03-29T021500Z']
    """
    return [] if keep is None else sorted(names, reverse=True)[keep:]


def sums_text(sums: Mapping[Path, str]) -> str:
    """The hashes of all files, as `sha256sum --check` reads them."""
    return "".join(f"{digest}  {path.as_posix()}\n" for path, digest in sorted(sums.items()))


def sums_from(text: str) -> dict[Path, str]:
    """The hashes of all files. Raises BackupError for lines that no backup has."""
    found = {}
    for number, line in enumerate(text.splitlines(), 1):
        match = SUM.fullmatch(line)
        if match is None:
            raise BackupError(
                f"{SUMS}:{number}: expected a hash and the path of a content, found {line[:200]!r}"
            )
        found[Path(match["path"])] = match["digest"]
    if DATABASE not in found:
        raise BackupError(f"{SUMS}: expected a line for {DATABASE}")
    return found


def manifest_text(manifest: Manifest) -> str:
    """The manifest as JSON, with what a backup does not hold."""
    fields = asdict(manifest) | {"taken_at": manifest.taken_at.isoformat()}
    return json.dumps({"format": FORMAT, **fields, "not_included": NOT_INCLUDED}, indent=2) + "\n"


def manifest_from(text: str) -> Manifest:
    """The manifest of a backup. Raises BackupError for another text, or another version's."""
    try:
        fields = json.loads(text)
        form = fields.pop("format")
        if form != FORMAT:
            raise BackupError(
                f"{MANIFEST}: found format {form}, expected {FORMAT}: use the version that wrote it"
            )
        lists: dict[str, Sequence[str]] = {
            name: tuple(fields[name]) for name in ("missing", "damaged", "linked_folders")
        }
        del fields["not_included"]
        return Manifest(**{**fields, **lists, "taken_at": datetime.fromisoformat(fields["taken_at"])})
    except (ValueError, TypeError, KeyError, AttributeError):
        raise BackupError(f"{MANIFEST} was not written by `heldout-server backup`") from None
