"""The teams and methods of the sample, all of them made up: what they tell of themselves, and how their methods err."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from sample.methods.detection import Detector, detecting
from sample.methods.layout import Wobble, laying_out
from sample.methods.predicting import Predict
from sample.methods.ranking import Classifier, classifying, naming_actions
from sample.methods.segmentation import Smudge, segmenting

MADE_UP: Final = "This method is made up for the sample: its predictions were computed from the annotation, with errors like those described here."


@dataclass(frozen=True, slots=True)
class Team:
    """A made-up team."""

    key: str
    name: str


ORGANISERS: Final = Team("organisers", "Sample organisers (made up)")
LANTERN: Final = Team("lantern", "Lantern Lab (made up)")
OWLS: Final = Team("owls", "Night Owls (made up)")
HARBOUR: Final = Team("harbour", "Harbour Vision (made up)")
GARDEN: Final = Team("garden", "Garden Group (made up)")
TEAMS: Final = (ORGANISERS, LANTERN, OWLS, HARBOUR, GARDEN)


@dataclass(frozen=True, slots=True)
class Method:
    """A made-up method.

    days: how long before the server's first start it was submitted; predicts: by the competition with the given data alone; with_other_data:
    of these, those that it enters with other training data, too; facts: answers to the sample's questions.
    """

    name: str
    title: str
    team: Team
    days: float
    text: str
    facts: Mapping[str, str]
    predicts: Mapping[int, Predict]
    with_other_data: frozenset[int] = frozenset()
    is_baseline: bool = False

    @property
    def description(self) -> str:
        """What the team tells of it, which says plainly where the predictions come from."""
        return f"{self.text} {MADE_UP}"

    @property
    def competitions(self) -> tuple[int, ...]:
        """The competitions that it enters."""
        return tuple(sorted((*self.predicts, *(number + 1 for number in self.with_other_data))))


def _facts(runtime: str, parameters: str, backbone: str) -> Mapping[str, str]:
    return {"Runtime": runtime, "Parameters": parameters, "Backbone": backbone}


METHODS: Final = (
    Method(
        "SlidingWindow",
        "Linear templates over an image pyramid",
        ORGANISERS,
        34.2,
        "A baseline: one linear template for each class and view, slid over an image pyramid of six levels. It has no "
        "suppression worth the name, so many objects are reported twice, and little below 50 pixels is found. Ranking by the "
        "best window of each class gives its classification.",
        _facts("2400", "0.4", "histograms of gradients"),
        {
            1: classifying(Classifier(0.2, 0.45, small=90.0)),
            3: detecting(Detector(0.13, 58.0, 0.12, 0.4, 0.2, 0.45, 2.6, 0.16)),
        },
        is_baseline=True,
    ),
    Method(
        "PoseTemplate",
        "Average poses from the training set",
        ORGANISERS,
        33.4,
        "A baseline: the average place of head, hands and feet within the box of a person, for each view, and the action whose average "
        "silhouette is nearest. Raised arms are where it fails: waving and phoning look the same to it.",
        _facts("12", "0.01", "none"),
        {
            7: laying_out(Wobble(0.24, 0.1, 0.4, 0.05, 0.16)),
            9: naming_actions(Classifier(0.2, 0.8, small=120.0, weak={"phoning": 1.4})),
        },
        is_baseline=True,
    ),
    Method(
        "LanternNet",
        "A one-stage detector on a single scale",
        LANTERN,
        29.6,
        "A one-stage detector that predicts from a single feature map with a stride of 32 pixels. Large objects in the open are found "
        "well; birds, kites and distant people are lost, because the map has no cell for them.",
        _facts("18", "12", "residual, 18 layers"),
        {3: detecting(Detector(0.1, 44.0, 0.05, 0.3, 0.12, 0.16, 1.0, 0.13))},
    ),
    Method(
        "HarbourDet",
        "Two stages, tuned on water scenes",
        HARBOUR,
        26.3,
        "A two-stage detector whose proposals were tuned on scenes with water. Boats and fish are its strength. On land it reports "
        "houses as boats now and then, and crowded people as one.",
        _facts("95", "41", "residual, 50 layers"),
        {
            3: detecting(
                Detector(
                    0.08,
                    30.0,
                    0.06,
                    0.36,
                    0.14,
                    0.1,
                    0.8,
                    0.12,
                    weak={"boat": 0.4, "fish": 0.4, "person": 1.6, "house": 1.7, "tree": 1.5},
                )
            )
        },
        with_other_data=frozenset({3}),
    ),
    Method(
        "HarbourSeg",
        "Fully convolutional, with a stride of eight",
        HARBOUR,
        25.7,
        "A fully convolutional network with a stride of eight pixels and no refinement. Outlines come in blocks, thin things such as "
        "masts and strings are lost, and a kite against the sky often becomes a bird.",
        _facts("60", "35", "residual, 50 layers"),
        {5: segmenting(Smudge(14, 0.03, 26.0, 0.08, 0.12, 0.4))},
    ),
    Method(
        "OwlNet",
        "A classifier with localisation on top",
        OWLS,
        22.1,
        "A strong classifier, from whose class activation boxes are regressed. The classes are right nearly always. The boxes are loose, "
        "worst for people who are half hidden.",
        _facts("40", "25", "convolutional, depthwise"),
        {
            1: classifying(Classifier(0.17, 0.3)),
            3: detecting(Detector(0.15, 27.0, 0.04, 0.22, 0.04, 0.08, 0.6, 0.1, weak={"person": 1.35})),
        },
    ),
    Method(
        "LanternNet-2",
        "Three scales in place of one",
        LANTERN,
        18.5,
        "LanternNet with predictions from three scales. Half of the small objects that the first version lost are found now, at the "
        "price of more objects that are reported twice, once on each scale.",
        _facts("24", "14", "residual, 18 layers"),
        {3: detecting(Detector(0.09, 25.0, 0.05, 0.28, 0.11, 0.2, 1.0, 0.12))},
        with_other_data=frozenset({3}),
    ),
    Method(
        "StrideNet",
        "Keypoints, then actions",
        GARDEN,
        15.2,
        "Keypoints of a person are regressed from its box, parts are drawn around them, and the action follows from the angles between "
        "limbs. Feet behind other people are guessed.",
        _facts("35", "28", "transformer, small"),
        {
            7: laying_out(Wobble(0.16, 0.07, 0.2, 0.03, 0.12)),
            9: naming_actions(Classifier(0.17, 0.4, weak={"reading": 1.3})),
        },
    ),
    Method(
        "GardenSet",
        "Set prediction without suppression",
        GARDEN,
        11.8,
        "A transformer that predicts a set of objects with their masks, so that none is reported twice. Overlapping objects are its "
        "strength, and very small ones its weakness: they share a query with what stands beside them.",
        _facts("80", "44", "transformer, base"),
        {
            1: classifying(Classifier(0.14, 0.15, small=55.0)),
            3: detecting(Detector(0.075, 36.0, 0.04, 0.08, 0.07, 0.01, 0.5, 0.11)),
            5: segmenting(Smudge(8, 0.02, 34.0, 0.04, 0.05, 0.2)),
        },
        with_other_data=frozenset({3, 5}),
    ),
    Method(
        "OwlNet-XL",
        "Twice the width, boxes in two steps",
        OWLS,
        8.4,
        "OwlNet with twice the width; for the leaderboards of any data it was trained on a large made-up set of photographs, too. "
        "Boxes are refined in a second step, which was the weakness of the first version.",
        _facts("110", "97", "convolutional, depthwise"),
        {
            1: classifying(Classifier(0.15, 0.2, small=32.0)),
            3: detecting(Detector(0.075, 23.0, 0.03, 0.2, 0.04, 0.06, 0.4, 0.1)),
        },
        with_other_data=frozenset({1, 3}),
    ),
    Method(
        "HarbourSeg-2",
        "Outlines refined at full resolution",
        HARBOUR,
        6.9,
        "HarbourSeg with a second network that redraws outlines at full resolution. Masts are back. What was given the wrong class "
        "before still is: the refinement moves borders and never decides again.",
        _facts("130", "52", "residual, 101 layers"),
        {5: segmenting(Smudge(4, 0.01, 20.0, 0.06, 0.1, 0.25))},
        with_other_data=frozenset({5}),
    ),
    Method(
        "LanternNet-3",
        "Soft suppression and harder negatives",
        LANTERN,
        4.3,
        "LanternNet-2 with soft suppression across scales, trained with kites, birds and balloons as hard negatives of one another. Few "
        "objects are reported twice or confused now; what is missed is small or hidden.",
        _facts("26", "14", "residual, 18 layers"),
        {3: detecting(Detector(0.07, 20.0, 0.03, 0.22, 0.03, 0.03, 0.5, 0.1))},
        with_other_data=frozenset({3}),
    ),
    Method(
        "StrideNet-2",
        "Actions from two neighbours, too",
        GARDEN,
        2.6,
        "StrideNet with attention to what a person holds, such as a book or a telephone, and to the persons beside it. Reading is solved; "
        "a raised hand is still taken for a telephone.",
        _facts("42", "31", "transformer, small"),
        {
            7: laying_out(Wobble(0.12, 0.05, 0.14, 0.02, 0.09)),
            9: naming_actions(Classifier(0.1, 0.35, weak={"phoning": 1.5, "waving": 1.4})),
        },
        with_other_data=frozenset({7, 9}),
    ),
)
"""In the order in which they were submitted, over five weeks."""

TRYING: Final = Method(
    "WindowShopper",
    "What Try it now submits",
    LANTERN,
    0.0,
    "An early state of LanternNet, which visitors submit again and again to see how scoring works.",
    {},
    {3: detecting(Detector(0.1, 34.0, 0.06, 0.3, 0.12, 0.14, 1.0, 0.13))},
)
