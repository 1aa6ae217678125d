import math

from hypothesis import given
from hypothesis import strategies as st

from heldout_scoring.metrics.matching import all_objects_positive
from heldout_scoring.metrics.ranking import ELEVEN_RECALLS
from heldout_scoring.protocols import PROTOCOLS
from heldout_scoring.scores import ScoreTable
from heldout_scoring.tasks.detection import DETECTION
from heldout_scoring.tasks.task import Keyed
from tests.scoring import oracles
from tests.scoring.builders import IMAGES, detections, ground_truth
from tests.scoring.oracles import Prediction, Thing

edge = st.integers(0, 6).map(float)
box = st.tuples(edge, edge, edge, edge).map(lambda b: (b[0], b[1], b[0] + b[2], b[1] + b[3]))
image = st.integers(0, IMAGES - 1)
things = st.lists(st.builds(Thing, image, box, st.booleans()), max_size=12).map(
    lambda found: sorted(found, key=lambda thing: thing.image)
)
predictions = st.lists(st.builds(Prediction, image, st.sampled_from([0.1, 0.5, 0.9]), box), max_size=30)


@given(predictions, things, st.sampled_from(["voc2006", "voc2007", "voc2012"]))
def test_the_second_score_treats_no_object_as_difficult(
    ranked: list[Prediction], found: list[Thing], protocol: str
) -> None:
    entered = Keyed("car", detections(ranked))

    there, rules = {"car": ground_truth(found)}, PROTOCOLS[protocol].rules_of(DETECTION)
    scores = DETECTION.score(DETECTION.match(iter([entered]), there, rules), there, rules)

    easy = [Thing(thing.image, thing.box) for thing in found]
    outcomes = oracles.outcomes(ranked, easy, 0.5, of_2006=protocol == "voc2006")
    if protocol == "voc2012":
        value = oracles.area(outcomes, len(easy))
    else:
        value = oracles.eleven(outcomes, len(easy), ELEVEN_RECALLS)
    beside = scores.exhibits[-1]
    assert isinstance(beside, ScoreTable)
    assert beside.rows[0] == ("car", None if math.isnan(value) else value)


def test_only_the_voc_years_report_scores_with_difficult_objects() -> None:
    told = {
        name
        for name, row in PROTOCOLS.items()
        if name not in {"coco", "lvis"} and row.rules_of(DETECTION).second_table is all_objects_positive
    }

    assert told == {name for name in PROTOCOLS if name.startswith("voc")}
