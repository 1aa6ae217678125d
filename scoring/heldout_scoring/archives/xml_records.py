"""Safe reading of XML records: no document type, no entities, limited depth and size."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final
from xml.parsers import expat  # with every handler below set, it offers no more than defusedxml does

from ..data.description import MAX_FILE_PROBLEMS
from ..errors import NOT_READ_ON, Problem, Problems, shown

MOST_BYTES: Final = 64 << 20
MOST_ELEMENTS: Final = 5_000_000
MOST_IN_A_RECORD: Final = 10_000
DEEPEST: Final = 32
LONGEST_TEXT: Final = 1000  # characters in one element; an honest number has a dozen

_ENCODINGS: Final = frozenset({"utf-8", "utf-16", "us-ascii", "iso-8859-1"})
_BLANK: Final = " \t\r\n"
_BYTE_ORDER_MARKS: Final = (b"\xef\xbb\xbf", b"\xff\xfe", b"\xfe\xff")


@dataclass(slots=True)
class Element:
    """An XML element: the line on which it begins, its text without surrounding blanks, and its child elements."""

    name: str
    line: int
    text: str = ""
    inside: list["Element"] = field(default_factory=list)


class _Stop(Exception):  # noqa: N818 - the problem is listed already, this only leaves the parser
    """Stops the parser."""


@dataclass(frozen=True, slots=True)
class Grammar:
    """The elements that a file may have.

    record: the name of the elements that are passed on one by one; inside: the allowed child elements by the name of their
    parent, with those of the document under the empty name. Elements without an entry hold text.
    """

    record: str
    inside: Mapping[str, tuple[str, ...]]


def read_records(
    data: bytes, grammar: Grammar, take: Callable[[Element], None], *, file: str, problems: Problems
) -> None:
    """Call `take` with every record; whatever the grammar does not allow becomes a problem with its line, and is left out.

    Accepts a declaration, comments, UTF-8, ASCII, Latin-1 and, with a byte order mark, UTF-16. Refuses a document type,
    entities but the five of XML itself, processing instructions, and more than the limits above.

    >>> grammar, found = Grammar("box", {"": ("boxes",), "boxes": ("box",), "box": ("xmin",)}), []
    >>> text = b"<boxes><box><xmin>5</xmin></box></boxes>"
    >>> read_records(text, grammar, found.append, file="boxes.xml", problems=Problems())
    >>> [(each.name, each.inside[0].text) for each in found]
    [('box', '5')]
    """
    if len(data) > MOST_BYTES:
        message = f"the file has {len(data)} bytes, too large; at most {MOST_BYTES} are read as XML"
        problems.add(Problem("file-too-large", message, file, found=str(len(data)), expected=str(MOST_BYTES)))
        return
    if data.startswith(_BYTE_ORDER_MARKS):
        message = "the file begins with a byte order mark (BOM); it is ignored"
        problems.note(Problem("byte-order-mark", message, file))
    if b"\r" in data:
        message = "lines end with a carriage return (CR); they are read as if they ended with a line feed"
        problems.note(Problem("line-ends", message, file))
    parser = expat.ParserCreate()
    _Reader(parser, grammar, take, problems, file).listen()
    try:
        parser.Parse(data, True)
    except expat.ExpatError as error:
        what = expat.ErrorString(error.code)
        message = f"this is not well-formed XML: {what} at line {error.lineno}, column {error.offset + 1}"
        problems.add(Problem("not-xml", message, file, error.lineno))
    except _Stop:
        return


@dataclass(slots=True)
class _Reader:
    """The state of the parser: open elements, open elements that the grammar does not allow, and elements so far."""

    parser: expat.XMLParserType
    grammar: Grammar
    take: Callable[[Element], None]
    problems: Problems
    file: str
    open: list[Element] = field(default_factory=lambda: [Element("", 0)])
    strange: int = 0
    seen: int = 0
    in_record: int = 0
    wrong: int = 0

    def listen(self) -> None:
        parser = self.parser
        parser.buffer_text = True
        parser.ordered_attributes = True
        parser.StartElementHandler = self.begin
        parser.EndElementHandler = self.end
        parser.CharacterDataHandler = self.text
        parser.XmlDeclHandler = self.declaration
        parser.StartDoctypeDeclHandler = self.doctype
        parser.ProcessingInstructionHandler = self.instruction

    def begin(self, name: str, attributes: list[str]) -> None:
        self.count()
        if self.strange:
            self.strange += 1
            if self.strange > DEEPEST:
                self.stop("too-deep", f"elements are nested too deep; at most {DEEPEST} levels are read")
            return
        parent = self.open[-1]
        allowed = self.grammar.inside.get(parent.name, ())
        if name not in allowed:
            self.strange = 1
            self.complain("unexpected-element", *_unexpected(name, parent.name, allowed))
            return
        if attributes:
            others = f" and {len(attributes) // 2 - 1} more" if len(attributes) > 2 else ""
            message = f"unexpected attribute '{shown(attributes[0], 40)}'{others} of <{name}>; expected none"
            self.complain("unexpected-attribute", message, shown(attributes[0]))
        element = Element(name, self.parser.CurrentLineNumber)
        if name != self.grammar.record and parent.name:
            parent.inside.append(element)
        self.open.append(element)

    def end(self, name: str) -> None:
        if self.strange:
            self.strange -= 1
            return
        element = self.open.pop()
        element.text = element.text.strip(_BLANK)
        if name == self.grammar.record:
            self.in_record = 0
            self.take(element)

    def text(self, data: str) -> None:
        if self.strange:
            return
        element = self.open[-1]
        if element.name in self.grammar.inside:
            if found := data.strip(_BLANK):
                what = shown(found, 40)
                self.complain("unexpected-text", f"unexpected text '{what}' in <{element.name}>", what)
            return
        element.text += data
        if len(element.text) > LONGEST_TEXT:
            message = f"the text of <{element.name}> is too long; at most {LONGEST_TEXT} characters are read"
            self.stop("text-too-long", message)

    def count(self) -> None:
        self.seen += 1
        self.in_record += len(self.open) > 2  # the document and the outermost element are open always
        if self.seen > MOST_ELEMENTS or self.in_record > MOST_IN_A_RECORD:
            most = (
                f"{MOST_IN_A_RECORD} in one <{self.grammar.record}>"
                if self.in_record > MOST_IN_A_RECORD
                else f"{MOST_ELEMENTS}"
            )
            self.stop("too-many-elements", f"too many elements; at most {most} are read")

    def declaration(self, _version: str, encoding: str | None, _standalone: int) -> None:
        if encoding is not None and encoding.lower() not in _ENCODINGS:
            found = shown(encoding, 40)
            self.stop("encoding", f"the encoding '{found}' is not supported; expected UTF-8", found, "UTF-8")

    def doctype(self, *_: object) -> None:
        self.stop("doctype", "a document type (DOCTYPE) is not allowed, nor are entities")

    def instruction(self, target: str, _data: str) -> None:
        found = shown(target, 40)
        self.stop(
            "processing-instruction", f"a processing instruction is not allowed, found <?{found}", found
        )

    def complain(
        self, code: str, message: str, found: str | None = None, expected: str | None = None
    ) -> None:
        line = self.parser.CurrentLineNumber
        self.problems.add(Problem(code, message, self.file, line, found, expected))
        self.wrong += 1
        if self.wrong == MAX_FILE_PROBLEMS:
            message = f"stopped after {MAX_FILE_PROBLEMS:,} problems in this file; what follows line {line:,} was not read"
            self.problems.add(Problem(NOT_READ_ON, message, self.file))
            raise _Stop

    def stop(self, code: str, message: str, found: str | None = None, expected: str | None = None) -> None:
        self.complain(code, message, found, expected)
        raise _Stop


def _unexpected(name: str, parent: str, allowed: tuple[str, ...]) -> tuple[str, str, str]:
    where = f" in <{parent}>" if parent else " as the outermost"
    expected = " or ".join(f"<{each}>" for each in allowed) or "only text"
    found = f"<{shown(name, 40)}>"
    return f"unexpected element {found}{where}; expected {expected}", found, expected
