"""Checks of the names in an archive: unsafe paths and duplicates."""

import re
import unicodedata
from dataclasses import dataclass, field

from scoring.data.limits import Limits
from scoring.errors import Problem, Problems, Rule, shown

_DRIVE = re.compile(r"[A-Za-z]:")
_BOTH = "the name '{}' is given both to a file and to a folder"
_SURROGATE = re.compile("[\ud800-\udfff]")  # a byte that is not UTF-8


@dataclass(slots=True)
class Names:
    """The names so far in one archive."""

    limits: Limits
    problems: Problems
    _files: dict[str, str] = field(default_factory=dict)
    _folders: dict[str, str] = field(default_factory=dict)

    def accept(self, name: str, *, folder: bool) -> str | None:
        """The normalised name, without './' and '//'; None for an invalid one, which becomes a problem."""
        problem = _fault(name, self.limits) or _fault_of_a_file(name, folder=folder)
        if problem is None:
            parts = _parts(unicodedata.normalize("NFC", name))
            problem = self._clash(parts, folder=folder)
        if problem is not None:
            self.problems.add(problem)
            return None
        return "/".join(parts)

    def _clash(self, parts: list[str], *, folder: bool) -> Problem | None:
        """The problem if another entry has this name on some file system; otherwise the name is recorded."""
        name = "/".join(parts)
        above = ["/".join(parts[:count]) for count in range(1, len(parts) + folder)]
        for each in above:
            if each.casefold() in self._files:
                return Problem("file-and-folder", Rule(_BOTH, shown(each)), shown(name))
        if not folder:
            key = name.casefold()
            if key in self._folders:
                return Problem("file-and-folder", Rule(_BOTH, shown(name)), shown(name))
            if key in self._files:
                return _twice(name, self._files[key])
            self._files[key] = name
        self._folders.update((each.casefold(), each) for each in above)
        return None


def _twice(name: str, other: str) -> Problem:
    if name == other:
        return Problem(
            "duplicate", Rule("a duplicate: '{}' is in the archive twice", shown(name)), shown(name)
        )
    rule = Rule("a duplicate: it differs from '{}' only in upper and lower case", shown(other))
    return Problem("duplicate", rule, shown(name))


def _parts(name: str) -> list[str]:
    return [part for part in name.split("/") if part not in ("", ".")]


def _fault(name: str, limits: Limits) -> Problem | None:
    if len(name) > limits.max_path_length:
        message = f"the name is {len(name)} characters long; at most {limits.max_path_length} are allowed"
        return Problem(
            "name-too-long",
            Rule(message),
            shown(name),
            found=str(len(name)),
            expected=str(limits.max_path_length),
        )
    problem = _fault_of_characters(name) or _fault_of_the_path(name)
    if problem is None and name.count("/") > limits.max_depth:
        message = f"the path is too deep; at most {limits.max_depth} folders are allowed"
        return Problem("path-too-deep", Rule(message), shown(name), expected=str(limits.max_depth))
    return problem


def _fault_of_characters(name: str) -> Problem | None:
    if _SURROGATE.search(name):
        message = (
            "the name is not encoded as UTF-8, so that its letters are not known; give it a name in ASCII"
        )
        return Problem("name-encoding", Rule(message), shown(name))
    if not name.isprintable():
        message = "the name contains a control character or an invisible one"
        return Problem("name-character", Rule(message), shown(name))
    if unicodedata.normalize("NFKC", name) != unicodedata.normalize("NFC", name):
        message = "the name contains a character that only looks like another one; give it a name in ASCII"
        return Problem("name-character", Rule(message), shown(name))
    if any(part != part.strip() for part in name.split("/")):
        return Problem("name-character", Rule("the name begins or ends with whitespace"), shown(name))
    return None


def _fault_of_the_path(name: str) -> Problem | None:
    if name.startswith("/"):
        why = "it is absolute"
    elif ".." in name.split("/"):
        why = "it leads outside of the archive"
    elif "\\" in name or _DRIVE.match(name) or name.startswith("~"):
        why = "it means another place on some systems"
    else:
        return None
    return Problem(
        "unsafe-path",
        Rule(f"unsafe path, {why}; expected names such as 'results/Main/file.txt'"),
        shown(name),
    )


def _fault_of_a_file(name: str, *, folder: bool) -> Problem | None:
    if folder or _parts(name):
        return None
    return Problem("unsafe-path", Rule("unsafe path: a file without a name"), shown(name) or None)
