"""Formats that are recognised and not read: their names, and what to send instead."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from app.intake.formats.reading import ANNOTATION_SUFFIXES, PICTURE_SUFFIXES, Reading

_HEAD: Final = 1 << 16  # bytes at the beginning and the end of a file
_TABLES: Final = (".csv", ".tsv")
_LOOKED_AT: Final = 20  # files of a folder; the others are like the first that is recognised
_KEY: Final = re.compile(rb'"([^"\\]{1,40})"\s*:')
_COCO: Final = "export as COCO (instances)"
_CONVERT: Final = "convert it to COCO's JSON or Pascal VOC"
_LABEL_IMAGES: Final = "make label images with a list of their classes, or COCO's JSON"


@dataclass(frozen=True, slots=True)
class Refused:
    """A format that is not read, and what to do instead.

    keys: of JSON, groups of which one is there whole, `[` for a list; lines: with which a text begins, a pattern; columns: the first line of a
    table, a pattern; name_of_file, name_of_picture: patterns; together: names of text files that show it where they stand in one folder.
    """

    name: str
    instead: str
    keys: Sequence[str] = ()
    lines: str = ""
    columns: str = ""
    name_of_file: str = ""
    name_of_picture: str = ""
    together: Sequence[str] = ()


_NUMBER: Final = r"-?\d+(?:\.\d*)?(?:e[-+]?\d+)?"
FORMATS: Final = (
    Refused("Label Studio's own JSON", f"{_COCO}, Pascal VOC XML or YOLO", keys=("[ data annotations", "[ data completions", "from_name to_name", "[ annotator lead_time", "[ original_width")),
    Refused("Label Studio's own CSV", f"{_COCO}, Pascal VOC XML or YOLO", columns=r"(?=.*\bannotat(or|ion_id)\b).*\blead_time\b.*"),
    Refused("a project of VGG Image Annotator (VIA)", "export annotations as COCO or CSV", keys=("_via_img_metadata", "filename regions", "shape_attributes", "vid_list fname")),
    Refused("a project of VoTT", "export as Pascal VOC or CSV", keys=("asset regions", "assets tags", "inputTags visitedFrames"), name_of_file=r".+\.vott"),
    Refused("JSON of Supervisely", "export as COCO or Pascal VOC", keys=("size objects tags", "classTitle", "classes tags projectType", "classes title shape")),
    Refused("JSON of Datumaro", "convert it to COCO (coco_instances) or VOC with Datumaro", keys=("dm_format_version", "items categories")),
    Refused("JSON of BDD100K", "convert it to COCO's JSON", keys=("box2d", "poly2d", "attributes timeofday")),
    Refused("JSON of CreateML", _COCO, keys=("[ annotations coordinates", "[ annotation coordinates")),
    Refused("annotation of Cityscapes", _LABEL_IMAGES, keys=("imgHeight imgWidth",), name_of_picture=r".+_(gtFine|gtCoarse|leftImg8bit)(_.+)?"),
    Refused("annotation of ADE20K", _LABEL_IMAGES, keys=("annotation imsize",), lines=r"\d+ # \d+ # .*", name_of_file=r"objectInfo150\.txt|sceneCategories\.txt", name_of_picture=r"ADE_\w+_\d+_(seg|parts_\d+)"),
    Refused("COCO's JSON of results", "send annotation with 'images', 'categories' and 'annotations'", keys=("[ image_id category_id score",)),
    Refused("FiftyOne's own JSON", "export as COCODetectionDataset or VOCDetectionDataset", keys=("samples filepath", "classes labels")),
    Refused("JSON of Darwin (V7)", _COCO, keys=("item annotations slots", "schema_ref item")),
    Refused("Roboflow's masks for semantic segmentation", "export as COCO segmentation", columns=r"pixel value ?, ?class"),
    Refused("Roboflow's text for YOLO in Keras", "export as YOLO or COCO", name_of_file=r"_annotations\.txt"),
    Refused("a manifest of SageMaker", "convert it to COCO's JSON", name_of_file=r".+\.manifest"),
    Refused("metadata.jsonl of Hugging Face", f"{_CONVERT}, or labels to a table with the columns image, label", name_of_file=r"metadata\.jsonl"),
    Refused("JSON lines of Ultralytics, Labelbox or Roboflow", "export as YOLO or COCO", name_of_file=r".+\.(ndjson|jsonl)"),
    Refused("run lengths of Kaggle", f"{_LABEL_IMAGES}", columns=r".*\bencodedpixels\b.*"),
    Refused("text of KITTI", _CONVERT, lines=rf"(\d+ -?\d+ )?[^\W\d][\w-]*( [^\W\d][\w-]*)*( {_NUMBER}){{14,15}}"),
    Refused("text of DOTA, with rotated boxes", "boxes are upright here; convert them to COCO's JSON", lines=rf"(imagesource:|gsd:).*|({_NUMBER} ){{8}}[A-Za-z]\S*( \d+)?"),
    Refused("text of VisDrone", _CONVERT, lines=rf"-?\d+(,{_NUMBER}){{7}},?"),
    Refused("text of MOT", "tracks are not scored; convert the boxes to COCO's JSON", lines=rf"\d+,-?\d+(,{_NUMBER}){{7,8}}"),
    Refused("text of MOTS", "tracks are not scored; convert the masks to COCO's JSON", lines=r"(\d+ ){5}\S*[^\s\d.]\S*"),
    Refused("text of WIDER FACE", _CONVERT, lines=rf".+\.jpe?g\n\d+\n({_NUMBER} ){{9}}{_NUMBER}"),
    Refused("annotation of CUB-200-2011", "send its folder images alone for classification, or a table with the columns image, class, left, top, right, bottom", together=("images.txt", "image_class_labels.txt")),
    Refused("the layout of Tiny ImageNet", "put the images of each class into a folder of its name, such as train/n01443537 and val/n01443537", name_of_file=r"val_annotations\.txt|wnids\.txt"),
    Refused("a file of CrowdHuman", "convert it to COCO's JSON", keys=("gtboxes",), name_of_file=r".+\.odgt"),
    Refused("a file of TensorFlow records", _COCO, name_of_file=r".+\.(tfrec|tfrecords?|record)(-\d+-of-\d+)?|.+-\d{5}-of-\d{5}"),
    Refused("images of Market-1501", "identities of persons are not scored; if folders are classes, give the images other names", name_of_picture=r"-?\d{1,4}_c\ds\d_\d+_\d+(\.jpg)?"),
)  # fmt: skip


def refuse_formats(reading: Reading) -> bool:
    """Add a problem for each format that is recognised and not read; return whether there is one.

    The names of pictures show one only where nothing but pictures was sent.
    """
    found = _texts_together(reading)
    left = set(reading.left).difference(*found.values())
    has_annotation = bool(reading.with_suffix(*ANNOTATION_SUFFIXES))
    kinds: dict[tuple[Path, str], list[Path]] = {}
    for path in sorted(left):
        kinds.setdefault((path.parent, path.suffix.lower()), []).append(path)
    for (_, suffix), paths in kinds.items():
        if suffix not in PICTURE_SUFFIXES or not has_annotation:
            for each, path in _recognised(paths):
                found.setdefault(each, []).append(path)
    for each, paths in found.items():
        reading.refuse(
            paths, "other-format", f"{each.name}, which is not read; {each.instead}, and send that instead"
        )
    return bool(found)


def _texts_together(reading: Reading) -> dict[Refused, list[Path]]:
    """The text files below each folder that holds files which together show such a format."""
    names: dict[Path, set[str]] = {}
    texts = reading.with_suffix(".txt")
    for path in texts:
        names.setdefault(path.parent, set()).add(path.name.lower())
    found: dict[Refused, list[Path]] = {}
    for folder, listed in names.items():
        for each in FORMATS:
            if each.together and listed.issuperset(each.together):
                found[each] = [path for path in texts if path.is_relative_to(folder)]
    return found


def _recognised(paths: Sequence[Path]) -> Iterator[tuple[Refused, Path]]:
    """The files of one folder and suffix that have such a format."""
    formats = [_format_of(path) for path in paths[:_LOOKED_AT]]
    usual = next(filter(None, formats), None)
    for path, each in zip(paths, [*formats, *[usual] * (len(paths) - len(formats))], strict=True):
        if each:
            yield each, path


def _format_of(path: Path) -> Refused | None:
    suffix = path.suffix.lower()
    keys = _keys_of(path) if suffix in (".json", "") else set()
    lines = _lines_of(path) if suffix in (".txt", *_TABLES) else ""
    columns, lines = (lines.partition("\n")[0].lower(), "") if suffix in _TABLES else ("", lines)
    for each in FORMATS:
        if any(keys.issuperset(group.split()) for group in each.keys) or (
            re.fullmatch(each.name_of_file, path.name, re.IGNORECASE)
            or (suffix in PICTURE_SUFFIXES and re.fullmatch(each.name_of_picture, path.stem))
            or (each.lines and re.match(rf"({each.lines})(\n|$)", lines))
            or (each.columns and re.fullmatch(each.columns, columns))
        ):
            return each
    return None


def _keys_of(path: Path) -> set[str]:
    """The keys at the beginning and the end of JSON, and `[` of a list; none of what is read: COCO's and labelme's."""
    with path.open("rb") as file:
        text = file.read(_HEAD)
        if (size := path.stat().st_size) > _HEAD:
            file.seek(max(_HEAD, size - _HEAD))
            text += b" " + file.read()
    text = text.replace(b"\0", b"")  # of UTF-16
    keys = {key.decode("utf-8", "replace") for key in _KEY.findall(text)}
    if text.lstrip(b"\xef\xbb\xbf\xff\xfe \t\r\n").startswith(b"["):
        return {"[", *keys}
    is_read = ("images" in keys and not keys.isdisjoint(("annotations", "categories"))) or "shapes" in keys
    return set() if is_read else keys


def _lines_of(path: Path) -> str:
    """The beginning of a text: lines that are not blank, with one blank between fields."""
    with path.open("rb") as file:
        text = file.read(4096).decode("utf-8-sig", "replace")
    return "\n".join(" ".join(line.split()) for line in text.splitlines() if line.strip())
