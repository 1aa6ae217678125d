"""The competitions of each challenge, and the names of their result files."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache
from pathlib import PurePosixPath
from typing import Final

from .data.description import Description
from .errors import NotFoundError

JSON_FILES: Final = (".json", ".json.gz", ".json.xz")
"""The endings of JSON files, plain and compressed on their own."""
PLAIN_FILES: Final = (".txt", ".xml", JSON_FILES[0])
"""The endings of prediction files that are not packed."""

_LONGEST_NAME: Final = 80  # characters, which fit into the header of a tar archive
_SUBJECTS: Final = {"{class}": "classes", "{action}": "actions", "{image}": "images"}


@dataclass(frozen=True, slots=True)
class CompetitionInfo:
    """One competition of a challenge.

    own_data: whether methods may be trained on other images than the provided ones; file_pattern: the path of a result file
    below `results/<dataset>`, with {set} for the image set and {class}, {action} or {image} for the key of a file.

    >>> competitions("VOC2012")[2].file_pattern
    'Main/comp3_det_{set}_{class}.txt'
    """

    number: int
    task: str
    title: str
    own_data: bool
    file_pattern: str

    @property
    def name(self) -> str:
        """The name in file names: "comp3"."""
        return f"comp{self.number}"

    @property
    def own_data_rule(self) -> str:
        """Which training data is allowed, as the end of a sentence."""
        if self.own_data:
            return "trained on any data but the test images"
        return "trained on the given data only"

    @property
    def folder(self) -> str:
        """The folder of its files below `results/<dataset>`; empty in 2006."""
        return self.file_pattern.rpartition("comp")[0].rstrip("/")

    @property
    def subjects(self) -> str:
        """The kind of thing that has one result file each: "classes", "actions", "images", or "files"."""
        return next((many for blank, many in _SUBJECTS.items() if blank in self.file_pattern), "files")

    @property
    def needs_every_file(self) -> bool:
        """Whether every file is required: classes may be left out, images may not."""
        return "{image}" in self.file_pattern

    @property
    def has_any_name(self) -> bool:
        """Whether its file may have any name: then it is the only one, and JSON.

        >>> competition_of("COCO", 1).has_any_name, competition_of("VOC2012", 3).has_any_name
        (True, False)
        """
        return self.file_pattern.endswith(JSON_FILES[0])

    def file_pattern_of(self, image_set: str) -> str:
        """The pattern for messages: 'Main/comp3_det_test_<class>.txt'."""
        return self.file_pattern.replace("{set}", image_set).replace("{", "<").replace("}", ">")

    @property
    def only_key(self) -> str:
        """The key of the file where there is only one."""
        return "person" if self.task == "layout" else PurePosixPath(self.file_pattern).stem

    @property
    def file_name(self) -> str:
        """The pattern without the folder."""
        return self.file_pattern.removeprefix(self.folder).lstrip("/")


@dataclass(frozen=True, slots=True)
class Kind:
    """What the competitions of one kind share: the task, the title and the pattern of the files."""

    task: str
    title: str
    pattern: str


_CLASSIFICATION: Final = Kind(
    "classification", "Classification", "Main/comp{number}_cls_{{set}}_{{class}}.txt"
)
_DETECTION: Final = Kind("detection", "Detection", "Main/comp{number}_det_{{set}}_{{class}}.txt")
_SEGMENTATION: Final = Kind(
    "segmentation", "Segmentation", "Segmentation/comp{number}_{{set}}_cls/{{image}}.png"
)
_LAYOUT: Final = Kind("layout", "Person layout", "Layout/comp{number}_layout_{{set}}.xml")
_LAYOUT_2007: Final = Kind("layout", "Person layout", "Layout/comp{number}_layout_{{set}}_person.xml")
_ACTION: Final = Kind("action", "Action classification", "Action/comp{number}_action_{{set}}_{{action}}.txt")
_BOXLESS: Final = Kind(
    "action", "Action classification without boxes", "Action/comp{number}_action_{{set}}_{{action}}.txt"
)
_CLASSIFICATION_2006: Final = Kind(
    "classification", "Classification", "comp{number}_cls_{{set}}_{{class}}.txt"
)
_DETECTION_2006: Final = Kind("detection", "Detection", "comp{number}_det_{{set}}_{{class}}.txt")
_BOXES: Final = Kind("coco-detection", "Detection, boxes", "detections.json")
_MASKS: Final = Kind("coco-segmentation", "Instance segmentation, masks", "segmentations.json")
_LVIS_BOXES: Final = replace(_BOXES, task="lvis-detection")
_LVIS_MASKS: Final = replace(_MASKS, task="lvis-segmentation")


def _info(number: int, kind: Kind, *, own_data: bool) -> CompetitionInfo:
    return CompetitionInfo(number, kind.task, kind.title, own_data, kind.pattern.format(number=number))


def _pair(first: int, kind: Kind) -> tuple[CompetitionInfo, CompetitionInfo]:
    return _info(first, kind, own_data=False), _info(first + 1, kind, own_data=True)


_MAIN: Final = (*_pair(1, _CLASSIFICATION), *_pair(3, _DETECTION))
_WITH_ONE_SEGMENTATION: Final = (*_MAIN, _info(5, _SEGMENTATION, own_data=True))
_OF_2009: Final = (*_MAIN, *_pair(5, _SEGMENTATION), *_pair(7, _LAYOUT))
_OF_2010: Final = (*_OF_2009, *_pair(9, _ACTION))
_OF_2011: Final = (*_OF_2010, *_pair(11, _BOXLESS))

_OF_COCO: Final = (_info(1, _BOXES, own_data=True), _info(2, _MASKS, own_data=True))
_OF_LVIS: Final = (_info(1, _LVIS_BOXES, own_data=True), _info(2, _LVIS_MASKS, own_data=True))

CHALLENGES: Final[Mapping[str, tuple[CompetitionInfo, ...]]] = {
    "VOC2006": (*_pair(1, _CLASSIFICATION_2006), *_pair(3, _DETECTION_2006)),
    "VOC2007": (*_WITH_ONE_SEGMENTATION, *_pair(6, _LAYOUT_2007)),
    "VOC2008": (*_WITH_ONE_SEGMENTATION, *_pair(6, _LAYOUT)),
    "VOC2009": _OF_2009,
    "VOC2010": _OF_2010,
    "VOC2011": _OF_2011,
    "VOC2012": _OF_2011,
    "COCO": _OF_COCO,
    "LVIS": _OF_LVIS,
}
"""Every challenge's competitions with the numbers that they had in that year; source: VOCinit.m of the kits. COCO's archives
hold one file of each kind; its numbers are ours."""

_TWENTY: Final = frozenset(f"VOC{year}" for year in range(2007, 2013))

_CLASSES: Final = (
    "aeroplane",
    "bicycle",
    "bird",
    "boat",
    "bottle",
    "bus",
    "car",
    "cat",
    "chair",
    "cow",
    "diningtable",
    "dog",
    "horse",
    "motorbike",
    "person",
    "pottedplant",
    "sheep",
    "sofa",
    "train",
    "tvmonitor",
)

_ELSEWHERE: Final = _OF_2010  # the last year's rules; its taster without boxes needs an annotation of its own


def competitions(dataset: str) -> tuple[CompetitionInfo, ...]:
    """The competitions of a dataset, by number; a dataset of another name has the ten of VOC2012.

    >>> [each.name for each in competitions("VOC2006")]
    ['comp1', 'comp2', 'comp3', 'comp4']
    """
    return CHALLENGES.get(dataset, _ELSEWHERE)


def classes_of(dataset: str) -> tuple[str, ...]:
    """The twenty classes of the challenges from 2007 on, in the order of their labels; none of another dataset.

    >>> classes_of("VOC2009")[14], classes_of("sample")
    ('person', ())
    """
    return _CLASSES if dataset in _TWENTY else ()


def offered(description: Description) -> tuple[CompetitionInfo, ...]:
    """The competitions of a phase, by number: those of its dataset for which there is ground truth.

    >>> [each.name for each in offered(Description("VOC2006", "val", (), (), (), not_offered=(3, 4)))]
    ['comp1', 'comp2']
    """
    return tuple(
        info for info in competitions(description.dataset) if info.number not in description.not_offered
    )


def competition_of(dataset: str, number: int) -> CompetitionInfo:
    """A competition of a dataset by its number.

    Raises NotFoundError if the dataset has no such competition.

    >>> competition_of("VOC2007", 6).task
    'layout'
    """
    infos = {info.number: info for info in competitions(dataset)}
    if number not in infos:
        raise NotFoundError(f"{dataset} has no competition {number}; it has {', '.join(map(str, infos))}")
    return infos[number]


def expected_files(info: CompetitionInfo, description: Description) -> Iterator[tuple[str, str]]:
    """Every file of a complete result of the competition with its key: the class or action, for segmentation the image.

    The only file of a layout competition has the key "person", that of COCO's the key "detections" or "segmentations".

    >>> phase = Description("VOC2012", "val", ("car", "cat"), (), ())
    >>> list(expected_files(competition_of("VOC2012", 3), phase))
    [('comp3_det_val_car.txt', 'car'), ('comp3_det_val_cat.txt', 'cat')]
    """
    name = info.file_name.replace("{set}", description.image_set)
    for blank in _SUBJECTS:
        if blank in name:
            yield from ((name.replace(blank, word), word) for word in words_of(info, description))
            return
    yield name, info.only_key


def words_of(info: CompetitionInfo, description: Description) -> tuple[str, ...]:
    """The keys of the competition's files: classes, actions or images, or that of the only file."""
    about = {
        "{class}": description.classes,
        "{action}": description.actions,
        "{image}": description.segmentation,
    }
    return next((words for blank, words in about.items() if blank in info.file_name), (info.only_key,))


def name_of(dataset: str, number: int) -> str:
    """What people call a competition: its task, with the training data where this tells two apart.

    >>> name_of("VOC2012", 4), name_of("COCO", 1)
    ('Detection, any data', 'Detection, boxes')
    """
    info = competition_of(dataset, number)
    if sum(each.title == info.title for each in competitions(dataset)) == 1:
        return info.title
    return f"{info.title}, {'any' if info.own_data else 'given'} data"


def is_numbered(description: Description) -> bool:
    """Whether people know the competitions by their numbers: those of PASCAL VOC with its own classes.

    >>> is_numbered(Description("VOC2012", "val", ("car", "cat"), (), ())), is_numbered(Description("COCO", "val", (), (), ()))
    (False, False)
    """
    known = classes_of(description.dataset)
    is_voc = description.dataset in CHALLENGES and description.dataset.startswith("VOC")
    return is_voc and known in ((), description.classes)


@cache
def file_name_as_regex(info: CompetitionInfo) -> re.Pattern[str]:
    """A pattern that matches the competition's files for any image set (group `set`) and key (group `key`), where the pattern has them."""
    pattern = re.escape(info.file_name).replace(r"\{", "{").replace(r"\}", "}")
    pattern = pattern.replace("{set}", "(?P<set>[^/]+?)")
    return re.compile(re.sub(r"\{(class|action|image)\}", "(?P<key>[^/]+)", pattern))


def is_json_name(name: str) -> bool:
    """Whether a file is called a JSON file, compressed or not.

    >>> is_json_name("sub/my_results.JSON"), is_json_name("good.json.gz"), is_json_name("good.tar.gz")
    (True, True, False)
    """
    return name.lower().endswith(JSON_FILES)


def is_single_file(filename: str) -> bool:
    """Whether this is the name of a single prediction file, not of an archive.

    >>> is_single_file("comp3_det_test_car.txt"), is_single_file("results.tar.gz")
    (True, False)
    """
    return filename.lower().endswith((*PLAIN_FILES, *JSON_FILES))


def result_path(filename: str, dataset: str, image_set: str) -> str | None:
    """The path of a prediction file in an archive; None if no competition of the challenge has such a file.

    JSON may have any name; letters that an archive's paths must not have become underscores.

    >>> result_path("comp3_det_test_car.txt", "VOC2007", "test"), result_path("car.txt", "VOC2007", "test")
    ('results/VOC2007/Main/comp3_det_test_car.txt', None)
    >>> result_path("my results.json.gz", "COCO", "val")
    'results/COCO/my_results.json.gz'
    """
    for competition in competitions(dataset):
        found = file_name_as_regex(competition).fullmatch(filename)
        if found and found.groupdict().get("set", image_set) == image_set:
            return "/".join(filter(None, ("results", dataset, competition.folder, filename)))
    if is_json_name(filename) and any(each.has_any_name for each in competitions(dataset)):
        plain = re.sub(r"[^A-Za-z0-9.-]", "_", filename)[-_LONGEST_NAME:]
        return f"results/{dataset}/{'' if plain[0].isalnum() else 'file'}{plain}"
    return None


def unknown_file(filename: str, dataset: str, image_set: str) -> str:
    """What is said of a single file whose name fits no competition."""
    patterns = (each.file_pattern_of(image_set).rpartition("/")[2] for each in competitions(dataset))
    expected = ", ".join(name for name in patterns if is_single_file(name))
    return f"{filename} is not the name of a prediction file; expected an archive, or one of {expected}"
