"""Result files that are given alone, without an archive."""

import re
from typing import Final

from scoring.archives.json_results import JSON, PACKED, has_any_name, is_json_name
from scoring.competitions import competitions, file_name_as_regex

PLAIN_FILES: Final = (".txt", ".xml", JSON)
SINGLE_FILES: Final = (*PLAIN_FILES, *PACKED)

_LONGEST_NAME: Final = 80  # characters, which fit into the header of a tar archive


def is_single_file(filename: str) -> bool:
    """Whether this is the name of a single prediction file, not of an archive.

    >>> is_single_file("comp3_det_test_car.txt"), is_single_file("results.tar.gz")
    (True, False)
    """
    return filename.lower().endswith(SINGLE_FILES)


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
    if is_json_name(filename) and any(has_any_name(each.file_pattern) for each in competitions(dataset)):
        plain = re.sub(r"[^A-Za-z0-9.-]", "_", filename)[-_LONGEST_NAME:]
        return f"results/{dataset}/{'' if plain[0].isalnum() else 'file'}{plain}"
    return None


def unknown_file(filename: str, dataset: str, image_set: str) -> str:
    """What is said of a single file whose name fits no competition."""
    patterns = (each.file_pattern_of(image_set).rpartition("/")[2] for each in competitions(dataset))
    expected = ", ".join(name for name in patterns if is_single_file(name))
    return f"{filename} is not the name of a prediction file; expected an archive, or one of {expected}"
