"""The files of a development kit's tree, and the problems found in them."""

import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, TypeVar

from scoring.competitions import CHALLENGES
from scoring.data.label_maps import misnamed
from scoring.data.layouts import WHOLE_IMAGE
from scoring.errors import Problem, Rule, shown
from scoring.readers.voc.annotations import READERS, AnnotationError, ListedImage, read_image_set
from scoring.readers.voc.label_images import MaskError

NEVER_SCORED: Final = "other"
"""The action of persons who do none of the others: annotated from 2011 on, never scored."""

_SHOWN: Final = 20
_SET: Final = re.compile(r"\w[\w.+-]{0,99}")
_Read = TypeVar("_Read")


class TreeError(Exception):
    """A tree cannot be read; `problems` has everything that is wrong with its files, the message lists the first twenty."""

    def __init__(self, problems: Sequence[Problem]) -> None:
        self.problems = tuple(problems)
        more = [f"and {len(problems) - _SHOWN} more"] if len(problems) > _SHOWN else []
        super().__init__("\n".join([*map(str, self.problems[:_SHOWN]), *more]))


def dataset_of(tree: Path) -> str:
    """The name of a challenge: that of its folder, or of the link's target if the folder is a link with another name.

    >>> dataset_of(Path("VOCdevkit/VOC2007/"))
    'VOC2007'
    """
    name = tree.absolute().name
    return name if name in CHALLENGES else tree.resolve().name


@dataclass(frozen=True, slots=True)
class KitFiles:
    """The tree of a challenge, one image set of it, and the problems and warnings found so far.

    Raises TreeError where there is no such folder, and for an image set that cannot be the name of a file.
    """

    root: Path
    image_set: str
    problems: list[Problem] = field(default_factory=list)
    warnings: list[Problem] = field(default_factory=list)

    def __post_init__(self) -> None:
        if not self.root.is_dir():
            raise TreeError([Problem("no-tree", f"there is no folder '{self.root}'")])
        if not _SET.fullmatch(self.image_set):
            message = f"expected the name of an image set, such as 'val', found '{shown(self.image_set)}'"
            raise TreeError([Problem("no-image-set", message, found=shown(self.image_set))])

    def add_problem(self, code: str, path: Path, message: str, line: int | None = None) -> None:
        """Add a problem of a file of the tree."""
        self.problems.append(Problem(code, message, self._name(path), line))

    def warn(self, code: str, path: Path, message: str) -> None:
        """Add a warning about a file of the tree, which is read all the same."""
        self.warnings.append(Problem(code, message, self._name(path)))

    def _name(self, path: Path) -> str:
        return path.relative_to(self.root).as_posix()

    def read(self, path: Path, reader: Callable[[bytes], _Read]) -> _Read | None:
        """The file as the reader returns it; None if it is invalid, and all that is wrong becomes problems."""
        try:
            return reader(path.read_bytes())
        except AnnotationError as error:
            for mistake in error.mistakes:
                self.add_problem(mistake.code, path, mistake.message, mistake.line)
        except MaskError as error:
            self.add_problem("mask", path, error.rule)
        except OSError as error:
            self.add_problem("no-file", path, Rule(f"this file cannot be read ({error.strerror})"))
        return None

    def listed(self, path: Path, columns: tuple[int, ...]) -> tuple[ListedImage, ...]:
        """The lines of an image set that have one of these counts of numbers; none if the file does not exist."""
        rows = (self.read(path, read_image_set) or ()) if path.exists() else ()
        good = tuple(row for row in rows if len(row.numbers) in columns)
        if len(good) < len(rows):
            self.add_problem(
                "columns", path, Rule(f"{len(rows) - len(good)} lines have too few or too many columns")
            )
        return good

    @property
    def dataset(self) -> str:
        """The challenge's name."""
        return dataset_of(self.root)

    @property
    def main_folder(self) -> Path:
        """The folder that lists the Main set; 2006 has no folders by task."""
        folder = self.root / "ImageSets" / "Main"
        return folder if folder.is_dir() else folder.parent

    def set_file(self, task: str) -> Path:
        """The file that lists the image set of a task."""
        return self.root / "ImageSets" / task / f"{self.image_set}.txt"

    def annotation_file(self, image: str) -> Path:
        """The annotation file of an image, whether it exists or not."""
        files = [self.root / "Annotations" / f"{image}{suffix}" for suffix in READERS]
        return next((file for file in files if file.exists()), files[0])

    def labels(self, path: Path, columns: int) -> tuple[ListedImage, ...]:
        """The lines of a label file; the last of their numbers is the label."""
        rows = self.listed(path, (columns,))
        if not {row.numbers[-1] for row in rows} <= {1, 0, -1}:
            self.add_problem("label", path, Rule("a label is neither 1 nor 0 nor -1"))
        if len({(row.image, row.numbers[:-1]) for row in rows}) < len(rows):
            self.add_problem("label", path, Rule("two lines give the same image or person different labels"))
        return rows

    def label_files(self, folder: Path) -> Mapping[str, Path]:
        """The label files by the name of their class or action, in alphabetical order."""
        end = f"_{self.image_set}.txt"
        return {path.name.removesuffix(end): path for path in sorted(folder.glob(f"?*{end}"))}

    def action_files(self) -> Mapping[str, Path]:
        """The label files of the actions that competitions score."""
        files = self.label_files(self.root / "ImageSets" / "Action")
        return {action: file for action, file in files.items() if action != NEVER_SCORED}

    def persons(self) -> Iterator[tuple[str, int]]:
        """The image and object of each line of the Layout set."""
        for row in self.listed(self.set_file("Layout"), (0, 1)):
            yield row.image, row.numbers[0] if row.numbers else WHOLE_IMAGE

    def check_labels(self, classes: Sequence[str], masks: Collection[str]) -> None:
        """Add a problem if there are label images and a class cannot be one of their labels."""
        if masks and (wrong := misnamed(classes)) is not None:
            self.add_problem("background-class", self.set_file("Segmentation"), wrong)

    def add_missing_image_set(self) -> None:
        """Add the problem that neither the Main set nor the Segmentation set has an image."""
        message = f"no image of the set '{self.image_set}' here; expected the folder of a challenge, such as VOCdevkit/VOC2007"
        self.add_problem("no-image-set", self.set_file("Main"), Rule(message))
