from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given as generated
from hypothesis import settings
from hypothesis import strategies as st

from heldout_scoring.data.matches import RankedPredictions
from heldout_scoring.data.truth import GroundTruth
from heldout_scoring.metrics.layouts import (
    MatchLayouts,
    match_boxed_persons_2007,
    match_boxed_persons_2007_corrected,
    match_parts,
    match_persons_2008,
    match_persons_2008_corrected,
    persons_of_layout_set,
)
from heldout_scoring.metrics.matching import iou_inclusive
from heldout_scoring.metrics.ranking import average_precision
from tests.scoring import layout_oracles as oracles
from tests.scoring.layout_builders import layouts_of, limb, truth_of, truth_of_images
from tests.scoring.layout_oracles import PARTS, Given, Key, Limb, Person
from tests.scoring.oracles import area

IMAGES = ("a_1", "a_2", "a_3")
NUMBERS = (2, 3)

# Small whole and half pixels make ties, identical boxes and overlaps of exactly one half frequent.
corner = st.integers(0, 8).map(lambda number: number / 2)
side = st.integers(-1, 8).map(lambda number: number / 2)
box = st.tuples(corner, corner, side, side).map(lambda b: (b[0], b[1], b[0] + b[2], b[1] + b[3]))
fair_box = st.tuples(corner, corner, side.map(abs), side.map(abs)).map(
    lambda b: (b[0], b[1], b[0] + b[2], b[1] + b[3])
)
name = st.sampled_from(PARTS)
limbs = st.lists(st.builds(Limb, name, box), max_size=4).map(tuple)
fair_limbs = st.lists(st.builds(Limb, name, fair_box), max_size=4).map(tuple)
person = st.builds(Person, fair_box, fair_limbs, st.booleans())
image = st.sampled_from(IMAGES)
confidence = st.sampled_from([-1.0, 0.0, -0.0, 0.25, 0.5])


@st.composite
def people_and_layouts(draw: st.DrawFn) -> tuple[dict[Key, Person], list[Given]]:
    """Persons of a Layout set and layouts that often match them."""
    keys = st.tuples(image, st.sampled_from(NUMBERS))
    people = draw(st.dictionaries(keys, person, min_size=1, max_size=4))
    layouts = []
    for image_, number in draw(st.lists(keys, max_size=8)):
        there = people.get((image_, number), Person((1, 1, 2, 2))).parts
        parts = draw(st.one_of(limbs, st.permutations(there).map(tuple)))
        layouts.append(Given(image_, draw(confidence), parts, number))
    return people, layouts


@st.composite
def images_and_layouts(draw: st.DrawFn) -> tuple[dict[str, list[Person]], list[Given]]:
    """Images of a Layout set and layouts that often match a person in them."""
    people = draw(st.dictionaries(image, st.lists(person, max_size=3), min_size=1))
    layouts = []
    for image_ in draw(st.lists(st.sampled_from(sorted(people)), max_size=8)):
        there: list[Person | None] = [None, *people[image_]]
        meant = draw(st.sampled_from(there))
        parts = draw(st.permutations(meant.parts).map(tuple)) if meant else draw(limbs)
        layouts.append(Given(image_, draw(confidence), parts, box=meant.box if meant else draw(box)))
    return people, layouts


def matched(
    match: MatchLayouts, truth: GroundTruth, layouts: Sequence[Given]
) -> tuple[RankedPredictions, ...]:
    found = layouts_of(layouts, truth.lists.persons)
    return match(found, persons_of_layout_set(truth), iou_inclusive, 0.5)


def said(match: MatchLayouts, truth: GroundTruth, layouts: Sequence[Given]) -> dict[str, list[int]]:
    return {each.class_name: each.outcomes.tolist() for each in matched(match, truth, layouts)}


@pytest.mark.sampled
@settings(max_examples=60)
@generated(people_and_layouts())
def test_outcomes_of_parts_equal_those_of_a_plain_loop(drawn: tuple[dict[Key, Person], list[Given]]) -> None:
    people, layouts = drawn

    found = matched(match_parts, truth_of(people), layouts)

    assert {each.class_name: each.outcomes.tolist() for each in found} == oracles.outcomes_of_parts(
        layouts, people
    )
    for each in found:
        wanted = sum(part.name == each.class_name for person in people.values() for part in person.parts)
        assert each.positives == wanted
        assert not np.any(np.diff(each.confidence) > 0)


@pytest.mark.sampled
@settings(max_examples=60)
@generated(people_and_layouts())
def test_outcomes_of_persons_equal_those_of_a_plain_loop(
    drawn: tuple[dict[Key, Person], list[Given]],
) -> None:
    people, layouts = drawn
    truth = truth_of(people)

    assert said(match_persons_2008, truth, layouts)["person"] == oracles.outcomes_of_2008(layouts, people)
    assert said(match_persons_2008_corrected, truth, layouts)["person"] == oracles.outcomes_of_2008(
        layouts, people, corrected=True
    )
    assert matched(match_persons_2008_corrected, truth, layouts)[0].positives == len(people)


@settings(max_examples=60)
@generated(images_and_layouts())
def test_outcomes_of_boxed_persons_equal_those_of_a_plain_loop(
    drawn: tuple[dict[str, list[Person]], list[Given]],
) -> None:
    people, layouts = drawn
    truth = truth_of_images(people)

    assert said(match_boxed_persons_2007, truth, layouts)["person"] == oracles.outcomes_of_2007(
        layouts, people
    )
    assert said(match_boxed_persons_2007_corrected, truth, layouts)["person"] == oracles.outcomes_of_2007(
        layouts, people, corrected=True
    )
    assert matched(match_boxed_persons_2007_corrected, truth, layouts)[
        0
    ].positives == oracles.positives_of_2007(people)


@pytest.mark.sampled
@settings(max_examples=60)
@generated(people_and_layouts(), st.randoms(use_true_random=False))
def test_without_ties_the_order_of_layouts_and_persons_changes_nothing(
    drawn: tuple[dict[Key, Person], list[Given]], random: Any
) -> None:
    people, layouts = drawn
    distinct = [Given(g.image, float(n), g.parts, g.number) for n, g in enumerate(layouts)]
    mixed, keys = list(distinct), list(people)
    random.shuffle(mixed)
    random.shuffle(keys)
    moved = truth_of({key: people[key] for key in keys})

    for match in (match_parts, match_persons_2008_corrected):
        assert said(match, moved, mixed) == said(match, truth_of(people), distinct)


@pytest.mark.sampled
@settings(max_examples=60)
@generated(people_and_layouts())
def test_adding_a_wrong_part_at_the_end_never_raises_a_value(
    drawn: tuple[dict[Key, Person], list[Given]],
) -> None:
    people, layouts = drawn
    truth, nobody = truth_of({**people, ("a_9", 1): Person((1, 1, 2, 2))}), Limb("hand", (90, 90, 95, 95))
    worse = [*layouts, Given("a_9", -9, (nobody,), 1)]

    for match in (match_parts, match_persons_2008_corrected):
        for before, after in zip(matched(match, truth, layouts), matched(match, truth, worse), strict=True):
            value = average_precision(before.outcomes, before.positives)
            if before.positives:
                assert average_precision(after.outcomes, after.positives) <= value
                assert 0 <= value <= 1
                assert value == area(before.outcomes.tolist(), before.positives)


TWO = (limb(), limb("foot", (1, 20, 10, 30)))
ONE = (limb(),)


@pytest.mark.parametrize(
    ("match", "of_one_part"),
    [(match_parts, 1), (match_persons_2008_corrected, 1), (match_persons_2008, 0)],
)
def test_only_the_program_of_2008_rejects_a_layout_of_a_single_part(
    match: MatchLayouts, of_one_part: int
) -> None:
    people = {("a_1", 1): Person((1, 1, 30, 30), ONE), ("a_2", 1): Person((1, 1, 30, 30), TWO)}
    layouts = [Given("a_1", 0.5, ONE, 1), Given("a_2", 0.4, TWO, 1)]

    assert next(iter(said(match, truth_of(people), layouts).values())) == [of_one_part, 1]


def test_only_the_program_of_2007_rejects_a_boxed_layout_of_a_single_part() -> None:
    truth = truth_of_images({"a_1": [Person((1, 1, 30, 30), ONE)]})
    layouts = [Given("a_1", 0.5, ONE, box=(1, 1, 30, 30))]

    assert said(match_boxed_persons_2007_corrected, truth, layouts) == {"person": [1]}
    assert said(match_boxed_persons_2007, truth, layouts) == {"person": [0]}


def test_the_program_of_2008_takes_layouts_in_the_order_of_the_file() -> None:
    truth = truth_of({("a_1", 1): Person((1, 1, 30, 30), TWO)})
    layouts = [Given("a_1", 0.1, TWO, 1), Given("a_1", 0.9, ONE, 1)]

    assert said(match_persons_2008, truth, layouts) == {"person": [1, 0]}
    assert said(match_persons_2008_corrected, truth, layouts) == {"person": [0, 1]}


def test_only_the_most_confident_layout_of_a_person_counts_by_parts() -> None:
    truth = truth_of({("a_1", 1): Person((1, 1, 30, 30), ONE)})
    layouts = [Given("a_1", 0.1, ONE, 1), Given("a_1", 0.9, (limb("head", (20, 20, 30, 30)),), 1)]

    assert said(match_parts, truth, layouts)["head"] == [0]


def test_an_empty_layout_replaces_a_later_one_of_the_same_person() -> None:
    truth = truth_of({("a_1", 1): Person((1, 1, 30, 30), ONE)})
    layouts = [Given("a_1", 0.9, (), 1), Given("a_1", 0.1, ONE, 1)]

    assert said(match_parts, truth, layouts)["head"] == []


def test_a_hand_whose_best_match_is_taken_does_not_match_another() -> None:
    hands = limb("hand", (1, 1, 10, 10)), limb("hand", (1, 1, 10, 8))
    truth = truth_of({("a_1", 1): Person((1, 1, 30, 30), hands)})
    layouts = [Given("a_1", 0.9, (hands[0], limb("hand", (1, 1, 10, 9.5))), 1)]

    assert said(match_parts, truth, layouts)["hand"] == [1, 0]


@pytest.mark.parametrize("match", [match_parts, match_persons_2008_corrected, match_persons_2008])
def test_layouts_of_persons_outside_the_set_do_not_count(match: MatchLayouts) -> None:
    truth = truth_of({("a_1", 2): Person((1, 1, 30, 30), TWO)})
    found = matched(match, truth, [Given("a_1", 0.9, TWO, 1), Given("a_1", 0.8, TWO, 2)])

    assert [outcome for outcome in found[0].outcomes.tolist() if outcome >= 0] == [1]
    assert found[0].image.tolist() in ([0], [0, 0])


@pytest.mark.parametrize("match", [match_parts, match_persons_2008_corrected, match_persons_2008])
def test_without_a_layout_set_nothing_is_counted(match: MatchLayouts) -> None:
    some = truth_of({("a_1", 1): Person((1, 1, 9, 9))})
    truth = GroundTruth.of(replace(some.lists, persons=()), some.tables)

    for each in matched(match, truth, [Given("a_1", 0.9, TWO, 1)]):
        assert each.positives == 0
        assert not np.any(each.outcomes >= 0)


def test_a_box_selects_the_person_it_overlaps_most_of_any_kind() -> None:
    easy, hard = Person((1, 1, 10, 10), TWO), Person((20, 1, 30, 10), TWO, difficult=True)
    partless = Person((1, 20, 10, 30))
    truth = truth_of_images({"a_1": [easy, hard, partless]})
    layouts = [
        Given("a_1", 0.9, TWO, box=(20, 1, 30, 10)),
        Given("a_1", 0.8, TWO, box=(1, 20, 10, 30)),
        Given("a_1", 0.7, ONE, box=(1, 1, 10, 10)),
        Given("a_1", 0.6, TWO, box=(1, 1, 10, 10)),
        Given("a_1", 0.5, TWO, box=(40, 40, 45, 45)),
    ]

    [found] = matched(match_boxed_persons_2007, truth, layouts)

    assert found.outcomes.tolist() == [1, 0, 0, 0, 0]
    assert found.positives == 1


def test_without_a_person_class_there_are_no_positives() -> None:
    some = truth_of_images({"a_1": [Person((1, 1, 9, 9), TWO)]})
    truth = GroundTruth.of(replace(some.lists, classes=("chair", "table")), some.tables)

    [found] = matched(match_boxed_persons_2007_corrected, truth, [Given("a_1", 0.9, TWO, box=(1, 1, 9, 9))])

    assert (found.positives, found.outcomes.tolist()) == (0, [0])
