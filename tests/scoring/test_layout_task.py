from pathlib import Path

import pytest

from heldout_scoring import Result, SubmissionError, evaluate, validate
from heldout_scoring.data.matches import open_rankings
from heldout_scoring.evaluation import columns_of
from heldout_scoring.metrics.layouts import persons_of_layout_set
from heldout_scoring.readers.voc_tree import read_tree
from heldout_scoring.scores import ClassResult, Curve, ScoreTable
from tests.scoring.builders import Kit, annotation, part, thing
from tests.scoring.layout_builders import layout, phase, truth_of, truth_of_images, xml_of
from tests.scoring.layout_oracles import Given, Limb, Person

TWO = (Limb("head", (1, 1, 10, 10)), Limb("foot", (1, 20, 10, 30)))
PEOPLE = {("a_1", 2): Person((1, 1, 30, 30), TWO), ("a_2", 1): Person((1, 1, 30, 30), TWO)}
PERFECT = [Given("a_1", 0.5, TWO, 2), Given("a_2", 0.25, TWO, 1)]


def results(folder: Path, content: bytes | str, name: str = "comp7_layout_val.xml") -> Path:
    """A folder with one result file."""
    file = folder / "results" / "VOC2012" / "Layout" / name
    file.parent.mkdir(parents=True)
    file.write_bytes(content if isinstance(content, bytes) else content.encode())
    return folder


def scored(
    folder: Path, given: list[Given], protocol: str = "voc2012", statistics: Path | None = None
) -> Result:
    sent = results(folder / "sent", xml_of(given))
    return evaluate(sent, truth_of(PEOPLE), competition=7, protocol=protocol, statistics=statistics)


@pytest.mark.parametrize(
    ("protocol", "names"),
    [
        ("voc2008", ["person"]),
        ("voc2008-corrected", ["person"]),
        ("voc2009", ["person"]),
        ("voc2010", ["head", "foot"]),
        ("voc2012", ["head", "foot"]),
    ],
)
def test_perfect_layouts_score_1(protocol: str, names: list[str], tmp_path: Path) -> None:
    report = scored(tmp_path, PERFECT, protocol)

    values = {each.name: each.value for each in report.classes}
    assert [values[name] for name in names] == pytest.approx([1] * len(names), abs=1e-12)


@pytest.mark.parametrize("protocol", ["voc2007", "voc2007-corrected"])
def test_perfect_layouts_of_boxed_persons_score_1(protocol: str, tmp_path: Path) -> None:
    truth = truth_of_images({"a_1": [Person((1, 1, 30, 30), TWO)]})
    sent = results(tmp_path, xml_of([Given("a_1", 0.5, TWO, box=(1, 1, 30, 30))]))

    report = evaluate(sent, truth, competition=7, protocol=protocol)

    assert report.headline == pytest.approx(1, abs=1e-12)
    assert report.measure == "11-point average precision"


def test_a_report_has_a_value_and_a_curve_for_each_part_and_their_mean(tmp_path: Path) -> None:
    hand = Limb("hand", (40, 40, 49, 49))
    people = {**PEOPLE, ("a_3", 1): Person((1, 1, 49, 49), (hand,))}
    sent = results(tmp_path, xml_of([*PERFECT, Given("a_3", 0.1, (Limb("hand", (1, 1, 2, 2)), hand), 1)]))

    report = evaluate(sent, truth_of(people), competition=7, protocol="voc2012")

    assert report.classes == (
        ClassResult("head", 1.0, None, 2, 2),
        ClassResult("hand", 0.5, None, 1, 2),
        ClassResult("foot", 1.0, None, 2, 2),
    )
    assert report.headline == pytest.approx(2.5 / 3, abs=1e-15)
    assert report.exhibits[0] == ScoreTable(report.measure, (("head", 1.0), ("hand", 0.5), ("foot", 1.0)))
    assert report.exhibits[2] == Curve("hand", 1, bytes([0, 1]))


def test_a_part_without_positives_has_no_value_and_leaves_no_mean(tmp_path: Path) -> None:
    report = scored(tmp_path, PERFECT)

    assert report.classes[1] == ClassResult("hand", None, "nobody in the set has one", 0, 0)
    assert (report.headline, report.headline_reason) == (None, "a part has no value")


def test_only_the_requested_parts_are_reported(tmp_path: Path) -> None:
    sent = results(tmp_path, xml_of(PERFECT))

    report = evaluate(sent, truth_of(PEOPLE), competition=7, protocol="voc2012", classes=["foot", "head"])

    assert [each.name for each in report.classes] == ["head", "foot"]
    assert report.headline == 1


def test_every_prediction_is_stored_with_its_outcome_best_first(tmp_path: Path) -> None:
    scored(tmp_path, list(reversed(PERFECT)), statistics=tmp_path / "kept")

    _, (head, hand, foot) = open_rankings(tmp_path / "kept")
    assert [each.class_name for each in (head, hand, foot)] == ["head", "hand", "foot"]
    assert head.image.tolist() == foot.image.tolist() == [0, 1]
    assert head.confidence.tolist() == [0.5, 0.25]
    assert head.outcomes.tolist() == [1, 1]


@pytest.mark.parametrize(
    ("protocol", "boxed", "sentence"),
    [
        ("voc2007", False, "the protocol asks for boxes of persons"),
        ("voc2012", True, "the protocol asks for numbers of persons"),
    ],
)
def test_a_protocol_that_needs_what_results_do_not_contain_is_refused(
    protocol: str, sentence: str, tmp_path: Path, *, boxed: bool
) -> None:
    person = Person((1, 1, 30, 30), TWO)
    truth = truth_of_images({"a_1": [person]}) if boxed else truth_of({("a_1", 1): person})
    sent = results(
        tmp_path, xml_of([Given("a_1", 1, TWO, None if boxed else 1, (1, 1, 9, 9) if boxed else None)])
    )

    with pytest.raises(SubmissionError, match=sentence):
        evaluate(sent, truth, competition=7, protocol=protocol)


def test_an_archive_without_the_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "sent").mkdir()

    with pytest.raises(SubmissionError, match="no result file of comp8 was found"):
        evaluate(tmp_path / "sent", truth_of(PEOPLE), competition=8, protocol="voc2012")


def test_without_a_layout_set_layouts_are_refused(tmp_path: Path) -> None:
    sent = results(tmp_path, "<results></results>")

    with pytest.raises(SubmissionError, match="has no Layout set"):
        evaluate(sent, truth_of({}), competition=7, protocol="voc2012")


def test_the_columns_follow_the_protocol_not_the_year() -> None:
    assert columns_of(phase(), 7, "voc2008") == ("person",)
    assert columns_of(phase(), 7, "voc2010") == ("head", "hand", "foot")


def test_boards_have_a_column_for_each_part_or_until_2009_for_the_person() -> None:
    description = phase()

    assert columns_of(description, 7) == ("head", "hand", "foot")
    for year, number in (("VOC2007", 6), ("VOC2008", 7), ("VOC2009", 8)):
        assert columns_of(description.from_json(description.to_json().replace("VOC2012", year)), number) == (
            "person",
        )


def test_validation_counts_layouts_and_notes_persons_without_one(tmp_path: Path) -> None:
    content = f"<results>{layout()}{layout()}</results>"

    found = validate(results(tmp_path, content), phase(("a_1", 1), ("a_2", 1), ("a_2", 2)))

    assert found.valid
    [summary] = found.competitions
    assert (summary.task, summary.files, summary.lines, summary.present) == ("layout", 1, 2, ("person",))
    assert "2 of the 3 persons of the Layout set of VOC2012 val have no layout" in str(found.warnings)


def test_validation_reports_every_problem_with_its_line(tmp_path: Path) -> None:
    content = f"<results>\n{layout(number='x')}\n{layout(image='b_1')}\n</results>"

    found = validate(results(tmp_path, content), phase())

    assert [(each.file, each.line) for each in found.problems] == [
        ("comp7_layout_val.xml", 2),
        ("comp7_layout_val.xml", 3),
    ]
    assert "have no layout" not in str(found.notes)


def test_the_file_name_of_2007_ends_with_person(tmp_path: Path) -> None:
    description = phase(("a_1", 0)).from_json(
        phase(("a_1", 0), ("a_2", 0)).to_json().replace("VOC2012", "VOC2007")
    )
    content = xml_of([Given("a_1", 0.5, TWO, box=(1, 1, 30, 30))])
    sent = tmp_path / "results" / "VOC2007" / "Layout" / "comp6_layout_val_person.xml"
    sent.parent.mkdir(parents=True)
    sent.write_bytes(content)

    found = validate(tmp_path, description)

    assert found.valid
    assert "1 of the 2 images of the Layout set of VOC2007 val have no layout" in str(found.warnings)


def test_persons_are_read_in_the_order_of_the_layout_set(tmp_path: Path) -> None:
    hands = part("hand", (1, 1, 4, 4)) + part("hand", (5, 5, 9, 9))
    tree = Kit(tmp_path / "VOC2012", "val").main(
        {
            "a_1": annotation(thing("person", parts=part("foot")), thing("person", parts=hands)),
            "a_2": annotation(thing("dog"), thing("person", parts=part("head"))),
        }
    )
    tree.write("ImageSets/Layout/val.txt", "a_2 2\na_1  2\n")

    people = persons_of_layout_set(read_tree(tree.root, "val"))

    assert not people.boxed
    assert people.image.tolist() == [1, 0]
    assert people.owner.tolist() == [0, 1, 1]
    assert people.kind.tolist() == [0, 1, 1]
    assert people.parts_of(1).boxes.tolist() == [[1, 1, 4, 4], [5, 5, 9, 9]]
    assert people.parts_of(1).count.tolist() == [0, 2]
    assert people.persons.positives == 2


def test_a_set_of_images_includes_all_persons_and_counts_those_with_parts(
    tmp_path: Path,
) -> None:
    tree = Kit(tmp_path / "VOC2007", "val").main(
        {
            "a_1": annotation(thing("person", parts=part("foot"))),
            "a_2": annotation(
                thing("dog"),
                thing("person", parts=part("head")),
                thing("person"),
                thing("person", said="difficult", parts=part("head")),
            ),
            "a_3": annotation(thing("person", (2, 2, 9, 9), parts=part("head"))),
        }
    )
    tree.write("ImageSets/Layout/val.txt", "a_3\na_2\n")

    people = persons_of_layout_set(read_tree(tree.root, "val"))

    assert people.boxed
    assert people.image.tolist() == [2, 1]
    assert (people.persons.first.tolist(), people.persons.count.tolist()) == ([0, 1], [1, 3])
    assert people.persons.boxes[0].tolist() == [2, 2, 9, 9]
    assert people.persons.difficult.tolist() == [False, False, True, True]
    assert people.owner.tolist() == [0, 1, 3]
    assert people.persons.positives == 2


def test_layouts_of_persons_outside_the_set_alone_have_no_value(tmp_path: Path) -> None:
    report = scored(tmp_path, [Given("a_1", 0.5, TWO, 1)], "voc2008")

    reason = "every layout is of a person outside the set, and nothing is left to be counted"
    assert report.classes == (ClassResult("person", None, reason, 2, 1),)
    assert report.headline is None


def test_a_set_of_difficult_persons_only_has_a_curve_without_a_value(tmp_path: Path) -> None:
    hard = Person((1, 1, 30, 30), TWO, difficult=True)
    sent = results(tmp_path, xml_of([Given("a_1", 0.5, TWO, box=(1, 1, 30, 30))]))

    report = evaluate(sent, truth_of_images({"a_1": [hard]}), competition=7, protocol="voc2007")

    [curve] = [each for each in report.exhibits if isinstance(each, Curve)]
    assert curve.envelope(3) == [0, 0, 0]
    assert report.classes[0].reason == "nobody in the set has one"
