"""The formats of results, and where examples of them can be downloaded."""

import scoring
from app.documentation.rules import first_to_try
from app.documentation.schemas import FormatView
from app.editions import queries as editions
from app.editions.schemas import PhaseView
from app.errors import NotFoundError
from app.examples.rules import first_file, line_grammar, protocol_named
from app.leaderboards.rules import BoardAddress
from app.platform import Platform
from scoring import CompetitionInfo, Description, Image
from scoring.protocol_table import ProtocolDescription

EDITIONS = ("VOC2012", "COCO")  # whose competitions show every format
IMAGES = (Image("2012_000001", 500, 375), Image("2012_000002", 500, 333))
EXAMPLES = {
    "VOC2012": Description(
        "VOC2012",
        "test",
        ("car", "person"),
        ("jumping",),
        IMAGES,
        persons=((IMAGES[0].id, 1),),
        acting=tuple((image.id, 1) for image in IMAGES),
    ),
    "COCO": Description("COCO", "test", ("person",), (), (Image("139", 640, 426),), class_numbers=(1,)),
}


def formats() -> tuple[FormatView, ...]:
    """The format of each task, once."""
    infos = {
        info.task: (dataset, info) for dataset in EDITIONS for info in reversed(scoring.competitions(dataset))
    }
    ordered = sorted(infos.values(), key=lambda each: (EDITIONS.index(each[0]), each[1].number))
    return tuple(_format(dataset, info) for dataset, info in ordered)


def _format(dataset: str, info: CompetitionInfo) -> FormatView:
    name, content = first_file(EXAMPLES[dataset], info) or ("", b"")
    return FormatView(
        task=info.task,
        title=info.title,
        path=f"results/{dataset}/{info.file_pattern_of('test')}",
        grammar=line_grammar(info.task),
        file=name or None,
        text=content.decode() or None,
    )


def known_protocol(code: str) -> ProtocolDescription:
    """The protocol of this name; raises NotFoundError."""
    found = protocol_named(code)
    if found is None:
        raise NotFoundError(f"There is no protocol {code!r}")
    return found


def phases_with_examples(platform: Platform) -> tuple[PhaseView, ...]:
    """The phases whose pages have examples to download, the newest edition first."""
    with platform.snapshot() as session:
        return tuple(editions.all_phases(session))


def board_to_try(platform: Platform) -> BoardAddress | None:
    """The board whose address the examples of calls have."""
    return first_to_try(phases_with_examples(platform))
