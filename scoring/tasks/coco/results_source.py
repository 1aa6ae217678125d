"""Detections in COCO's JSON from wherever they are: a plain or compressed file, an archive, or what a JSON parser makes of them."""

from pathlib import Path
from typing import Final

from scoring.archives.archive import is_archive
from scoring.archives.file_names import no_results
from scoring.archives.result_files import competition_files
from scoring.competitions import competition_of
from scoring.data.description import Description
from scoring.data.limits import UNLIMITED
from scoring.errors import Problems, SubmissionError
from scoring.files import as_path
from scoring.readers.coco_json.to_data import Source, read_source

_BOXES, _MASKS = 1, 2  # the numbers of the competitions
_ANY: Final = Description("COCO", "", (), (), (), limits=UNLIMITED)


def read_results_source(source: Source, *, masks: bool) -> tuple[str, bytes]:
    """The name and the content of a JSON file of results, given as in `read_source`, compressed, or in a zip or tar archive.

    masks: which file of an archive is meant, if it has one with boxes and one with masks. Raises PathError for a file that cannot
    be read, SubmissionError for an archive without such a file or with several.

    >>> read_results_source([{"image_id": 1}], masks=False)
    ('detections.json', b'[{"image_id": 1}]')
    """
    if not isinstance(source, Path | str) or (isinstance(source, str) and source.lstrip()[:1] in ("[", "{")):
        return read_source(source, "detections.json")
    path = as_path(source)
    if not is_archive(path):
        return read_source(path, "detections.json")
    number = _MASKS if masks else _BOXES
    problems = Problems()
    found = [(file.name, file.read()) for file in competition_files(path, _ANY, number, problems=problems)]
    if not found and not problems.listed:
        problems.add(no_results([competition_of(_ANY.dataset, number)], _ANY))
    if problems.listed:
        raise SubmissionError(*problems.listed)
    return found[0]
