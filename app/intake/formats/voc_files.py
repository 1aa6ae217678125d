"""Annotation files of VOC as tools write them, made readable for the library's reader; everything stays on its line."""

import codecs
import re
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final
from xml.sax.saxutils import unescape

from app.images.matching import path_of, stem_of
from app.intake.formats.reading import Size
from heldout_scoring import Rule

SIZE_IS_0: Final = Rule(
    "the image's size is 0, as tools write where they cannot open the image; send the image too, and its size is taken"
)
LOOKED_AT: Final = 5  # files of a folder
_HEAD: Final = 4096  # bytes in which the first element of a file begins
_BYTE_ORDER_MARK: Final = b"\xef\xbb\xbf"
_UTF_16: Final = (b"\xff\xfe", b"\xfe\xff")
_DECLARED: Final = re.compile(rb'(\s*<\?xml\b[^>]*?\sencoding\s*=\s*["\'])([A-Za-z0-9._:-]{1,40})(?=["\'])')
_READ: Final = re.compile(
    r"utf-8|utf-16(-[bl]e)?|ascii|iso8859-\d+|cp(125\d|866|874|932|949|950)|gb(2312|k|18030)|big5(hkscs)?"
    r"|shift_jis\w*|euc_(jp|kr)\w*|koi8-[ru]"
)
_WIDER: Final = {
    "gb2312": "gb18030",
    "gbk": "gb18030",
    "shift_jis": "cp932",
    "euc_kr": "cp949",
    "ascii": "utf-8",
}
_FIRST: Final = re.compile(rb"<([A-Za-z_][\w.:-]*)")
_OBJECT: Final = re.compile(rb"<object\b[^<>]*>[^<]*(?:<(?!/?object\b)[^<]*)*</object\s*>")
_OTHER_SHAPES: Final = ("robndbox", "polygon")
_SIZE: Final = re.compile(rb"<size\b[^<>]*>[^<]*(?:<(?!/?size\b)[^<]*)*</size\s*>")
_ZERO: Final = re.compile(rb"(<(width|height)\s*+>)\s*+0++(?:\.0*+)?\s*+(?=</)")
_FILE, _PATH = re.compile(rb"<filename\s*+>([^<]*+)<"), re.compile(rb"<path\s*+>([^<]*+)<")
_ROOT: Final = re.compile(rb"<annotation\b[^<>]*+>")
_ANGLE: Final = re.compile(
    rb"<name\s*+>\s*+rotation\s*+</name\s*+>\s*+<value\s*+>\s*+(?!-?[0.]++\s*+<)"
)  # as CVAT writes it


def is_of_other_file(content: bytes, image: str) -> bool:
    """Whether the annotation of an image names the file of another one, in `path` if it has no `filename`.

    >>> [is_of_other_file(b"<filename>%s</filename>" % name, "a.1") for name in (b"x/A.1.png", b"a.1", b"", b"b.jpg")]
    [False, False, False, True]
    """
    found = _FILE.search(content) or _PATH.search(content)
    file = path_of(unescape(found[1].decode(errors="replace"))) if found else path_of("")
    return bool(file.name) and image.casefold() not in (file.name.casefold(), stem_of(file).casefold())


OtherEncoding = Callable[[], tuple[str, str]]  # `Reading.other_encoding` of the file


@dataclass(slots=True)
class Readable:
    """An annotation file for the library's reader.

    code, problem, line: what is wrong with it otherwise; shapes: objects that were left out, by their shape; rotated: boxes with an angle.
    """

    content: bytes
    shapes: Counter[str] = field(default_factory=Counter)
    code: str = ""
    problem: Rule | None = None
    line: int | None = None
    rotated: int = 0


class EncodingProblem(Exception):  # noqa: N818 - what is wrong is told as a problem
    """A file is not in the encoding that it declares, on this line."""

    def __init__(self, rule: Rule, line: int) -> None:
        super().__init__(rule)
        self.rule, self.line = rule, line


def root_of(head: bytes) -> str:
    """The name of the first element in the beginning of an XML file; empty if there is none.

    >>> root_of(b'<?xml version="1.0"?><annotation verified="no">'), root_of(b"a,b")
    ('annotation', '')
    """
    found = _FIRST.search(head.replace(b"\0", b""))
    return found[1].decode() if found else ""


def files_with_root(files: Iterable[Path], root: str) -> list[Path]:
    """The XML files whose first element is called so, of the first few of each folder."""
    looked: Counter[Path] = Counter()
    found = []
    for path in files:
        looked[path.parent] += 1
        if looked[path.parent] <= LOOKED_AT and root_in(path) == root:
            found.append(path)
    return found


def root_in(path: Path) -> str:
    """The name of the first element of an XML file; empty if there is none."""
    with path.open("rb") as file:
        return root_of(file.read(_HEAD))


def readable(data: bytes, size: Size | None, other: OtherEncoding) -> Readable:
    """The same annotation in UTF-8, without objects of other shapes than boxes; size: of the picture, which takes the place of zeros."""
    try:
        data = as_utf8(data, other)
    except EncodingProblem as error:
        return Readable(b"", code="annotation", problem=error.rule, line=error.line)
    found = Readable(data)
    if data.count(b"<bndbox") < data.count(b"<object"):
        found.content = _OBJECT.sub(lambda match: _without_other_shape(match, found.shapes), data)
    _take_size(found, size)
    found.rotated = len(_ANGLE.findall(data))
    return found


def _without_other_shape(match: re.Match[bytes], shapes: Counter[str]) -> bytes:
    text = match[0]
    shape = next((each for each in _OTHER_SHAPES if f"<{each}".encode() in text), None)
    if shape is None or b"<bndbox" in text:
        return text
    shapes[shape] += 1
    return b"\n" * text.count(b"\n")


def _take_size(found: Readable, size: Size | None) -> None:
    stated = _SIZE.search(found.content)
    if stated is None and size is not None:
        sides = b"<size><width>%d</width><height>%d</height></size>" % size
        found.content = _ROOT.sub(lambda root: root[0] + sides, found.content, count=1)
    zero = _ZERO.search(stated[0]) if stated else None
    if stated is None or zero is None:
        return
    if size is None:
        found.code, found.problem = "image-size", SIZE_IS_0
        found.line = found.content.count(b"\n", 0, stated.start() + zero.start()) + 1
        return
    sides_of = dict(zip((b"width", b"height"), size, strict=True))
    taken = _ZERO.sub(lambda side: side[1] + b"%d" % sides_of[side[2]], stated[0])
    found.content = found.content[: stated.start()] + taken + found.content[stated.end() :]


def as_utf8(data: bytes, other: OtherEncoding = lambda: ("", "")) -> bytes:
    """The same XML in UTF-8, whatever encoding it declares. Raises EncodingProblem.

    >>> as_utf8('<?xml version="1.0" encoding="gb2312"?><name>图</name>'.encode("gbk")).decode()
    '<?xml version="1.0" encoding="utf-8"?><name>图</name>'
    """
    declared = _DECLARED.match(data.removeprefix(_BYTE_ORDER_MARK))
    name = declared[2].decode() if declared else "UTF-8"
    codec = "utf-16" if data.startswith(_UTF_16) else _codec(name)
    if codec.startswith("utf-16") and b"\0" not in data:
        codec = "utf-8"  # as .NET declares what it then writes in UTF-8
    try:
        text = data.decode(codec)
    except UnicodeDecodeError as error:
        chosen, way_out = other()
        if not chosen:
            words = f"this line is not in the encoding of the file, {{}}: declare it in the first line, or save the file as UTF-8{way_out}"
            raise EncodingProblem(Rule(words, name), data.count(b"\n", 0, error.start) + 1) from None
        text, name = data.decode(chosen), chosen
    if codec == "utf-8" and name.lower() == "utf-8":
        return data
    content = text.removeprefix("\ufeff").encode()
    return _DECLARED.sub(rb"\g<1>utf-8", content, count=1)


def _codec(name: str) -> str:
    try:
        codec = codecs.lookup(name).name
    except LookupError:
        codec = ""
    if not _READ.fullmatch(codec):
        words = "the encoding {} that this file declares is not read; save it as UTF-8"
        raise EncodingProblem(Rule(words, name), 1)
    return _WIDER.get(codec, codec)
