"""What each function of the protocols' rows does, in sentences, and where it is published."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from scoring.metrics.averaging import (
    mean_of_classes,
    mean_of_classes_with_a_value,
    pool_all_classes,
    pool_classes_with_positives,
)
from scoring.metrics.boxes import iou_half_open, iou_inclusive
from scoring.metrics.confusion import class_accuracy, iou_of_labels, pixel_accuracy
from scoring.metrics.groups import (
    match_open_images,
    match_open_images_challenge,
    match_open_images_challenge_documented,
    match_open_images_documented,
    single_objects_positive,
)
from scoring.metrics.labels import ranked_average_precision, ranked_average_precision_11_points, roc_auc
from scoring.metrics.layout_matching import (
    match_boxed_persons_2007,
    match_boxed_persons_2007_corrected,
    match_parts,
    match_persons_2008,
    match_persons_2008_corrected,
)
from scoring.metrics.matching import (
    all_objects_positive,
    match_pascal,
    match_pascal_2006,
    positives_without_difficult,
)
from scoring.metrics.ranking import (
    average_precision,
    average_precision_11_points,
    average_precision_of_objects,
)
from scoring.metrics.tensorflow import CONFIDENCE_FLOOR, MAX_DETECTIONS, match_pascal_tensorflow
from scoring.tasks.ranking.rules import LabelRules
from scoring.tasks.segmentation.rules import SegmentationRules


@dataclass(frozen=True, slots=True)
class Words:
    """What a function does, in sentences, and where it is published; None where it is not."""

    text: str
    source: str | None = None


_TENSORFLOW: Final = "TensorFlow Object Detection API"
_RELEASE: Final = "tf-models-research-object-detection 2.8.0"

_PASCAL: Final = (
    "A detection is matched to the object of its image with the largest IoU, the first of them in an exact tie, if that"
    " reaches the threshold. The most confident detection of an object is a true positive, all further ones are false"
    " positives even where another object is left."
)
_DIFFICULT: Final = " Detections of difficult objects are ignored."
_DROPPED: Final = (
    " Also ignored are boxes whose right edge is not beyond the left or whose bottom edge is not beyond the top,"
    f" confidences of {CONFIDENCE_FLOOR:g} or less, and in each image all but the {MAX_DETECTIONS:,} most confident of the"
    " others."
)
_SINGLE: Final = f"Single objects are matched first. {_PASCAL}"
_UNVERIFIED: Final = " Detections in images whose labels say nothing of the class are ignored."
_PERSONS: Final = (
    "A layout is a true positive if it has as many parts of each kind as the person, and every part of either has an IoU"
    " that reaches the threshold with one of its kind of the other."
)
_NUMBERED: Final = f"{_PERSONS} Further layouts of a person are false positives; those of persons who are not in the set are ignored."
_BOXED: Final = (
    "A layout belongs to the person of its image, difficult or not, whose box has the largest IoU with its own, if that"
    " reaches the threshold. Only the most confident layout of a person can be a true positive. " + _PERSONS
)
_SINGLE_PART: Final = (
    " As in the program of the year, layouts of persons with a single part are always false positives"
)

_ELEVEN: Final = "The mean of the highest precision at or beyond each of eleven recalls"
_AREA: Final = "The area under the PR curve with precision made monotone"

WORDS: Final[Mapping[Callable[..., Any], Words]] = {
    LabelRules: Words(
        "Images or persons with the label 1 are positives, those with -1 negatives; those with 0, which have difficult objects"
        " only, are ignored. What has no prediction ranks last, in the order of the ground truth."
    ),
    SegmentationRules: Words(
        "Every pixel that is not void (255) counts once, by its true and its predicted label; the background is a label like"
        " others."
    ),
    positives_without_difficult: Words(
        "All objects but difficult ones are positives; a group-of box is an object like any other."
    ),
    all_objects_positive: Words("Every annotated object is a positive, difficult or not."),
    single_objects_positive: Words(
        "Boxes of single objects are positives, and no group-of box; Open Images has no difficult objects."
    ),
    match_pascal: Words(
        _PASCAL + _DIFFICULT,
        'VOC2012 development kit, VOCevaldet.m; it says `>=` where its documentation says "exceeds"',
    ),
    match_pascal_2006: Words(
        f"{_PASCAL} The most confident detection of a difficult object is ignored; unlike in later years, further ones are"
        " false positives.",
        "VOC2006 development kit, VOCpr.m",
    ),
    match_pascal_tensorflow: Words(
        _PASCAL + _DIFFICULT + _DROPPED, "PascalDetectionEvaluator, WeightedPascalDetectionEvaluator"
    ),
    match_open_images: Words(
        f"{_SINGLE} A false positive of which one half or more lies in a group is ignored.{_DROPPED}",
        f"{_RELEASE}, OpenImagesDetectionEvaluator",
    ),
    match_open_images_documented: Words(
        f"{_SINGLE} A false positive of which more than one half lies in a group is ignored. No detection is dropped.",
        f"{_TENSORFLOW}, g3doc/evaluation_protocols.md",
    ),
    match_open_images_challenge: Words(
        f"{_SINGLE} A group counts as one object: the most confident false positive of which one half or more lies in it"
        f" becomes a true positive if its confidence is above 0, the others are ignored.{_UNVERIFIED}{_DROPPED}",
        f"{_RELEASE}, OpenImagesChallengeEvaluator",
    ),
    match_open_images_challenge_documented: Words(
        f"{_SINGLE} A group counts as one object: the most confident false positive of which more than one half lies in it"
        f" becomes a true positive, the others are ignored.{_UNVERIFIED} No detection is dropped.",
        "Open Images Challenge object detection evaluation, the page of the challenge",
    ),
    match_boxed_persons_2007: Words(f"{_BOXED}{_SINGLE_PART}.", "VOC2007 development kit, VOCevallayout.m"),
    match_boxed_persons_2007_corrected: Words(_BOXED),
    match_persons_2008: Words(
        f"{_NUMBERED}{_SINGLE_PART}, and layouts rank in the order of the file, whatever their confidence.",
        "VOC2008 development kit, VOCevallayout.m",
    ),
    match_persons_2008_corrected: Words(_NUMBERED),
    match_parts: Words(
        "Only the most confident layout of each person counts, and none of a person who is not in the set. Its parts are matched"
        " as detections of their kind within this person, in the order of the file, with the confidence of the layout.",
        "VOC2012 development kit, VOCevallayout_pr.m",
    ),
    iou_inclusive: Words("", "VOC2012 development kit, VOCevaldet.m"),
    iou_half_open: Words("", f"{_TENSORFLOW}, np_box_ops.py"),
    average_precision_11_points: Words(
        f"{_ELEVEN}, as in VOC2006 to VOC2009.", "VOC2007 development kit, VOCevaldet.m"
    ),
    average_precision: Words(f"{_AREA}, as in VOC2010 to VOC2012.", "VOC2012 development kit, VOCap.m"),
    average_precision_of_objects: Words(
        f"{_AREA}, as in VOC2010 to VOC2012; undefined wherever there are no positives.",
        f"{_TENSORFLOW}, metrics.py",
    ),
    ranked_average_precision_11_points: Words(
        f"{_ELEVEN}, as in VOC2007 to VOC2009.", "VOC2007 development kit, VOCevalcls.m"
    ),
    ranked_average_precision: Words(
        f"{_AREA}, as in VOC2010 to VOC2012.", "VOC2012 development kit, VOCevalcls.m"
    ),
    roc_auc: Words(
        "The area under the ROC curve of a class, as in VOC2006; equal confidences make one step.",
        "VOC2006 development kit, VOCroc.m",
    ),
    iou_of_labels: Words(
        "Intersection over union of the pixels of each label; undefined for a label that occurs neither as true nor as"
        " predicted.",
        "VOC2008 development kit and later, VOCevalseg.m",
    ),
    class_accuracy: Words(
        "The share of the pixels of each true label that are predicted as it; 0 for a label without pixels.",
        "VOC2007 development kit, VOCevalseg.m",
    ),
    pixel_accuracy: Words(
        "The share of pixels that are predicted as their true label; undefined without pixels.",
        "VOC2007 development kit, VOCevalseg.m",
    ),
    mean_of_classes: Words(
        "The arithmetic mean of the classes, added up from left to right; undefined where there is no class, or where the"
        " measure of one is undefined."
    ),
    mean_of_classes_with_a_value: Words(
        "The arithmetic mean of the classes whose measure is defined.",
        f"{_TENSORFLOW}, object_detection_evaluation.py",
    ),
    pool_all_classes: Words(
        "All classes are pooled as if they were one, so that a class weighs as much as it has objects. Equal confidences keep"
        " the order of the classes. Detections of a class without positives are false positives.",
        f'{_TENSORFLOW}, g3doc/evaluation_protocols.md, "weighted PASCAL"',
    ),
    pool_classes_with_positives: Words(
        "All classes with positives are pooled as if they were one, so that a class weighs as much as it has objects. Equal"
        " confidences keep the order of the classes. Detections of a class without positives are left out.",
        f"{_RELEASE}, object_detection_evaluation.py",
    ),
}
"""The words of every function, and of the rules that have none that match, which the official protocols use."""


def words_of(thing: Callable[..., Any]) -> Words:
    """The words of a function or of rules; of one's own function there is its name.

    >>> words_of(roc_auc).source, words_of(len).text
    ('VOC2006 development kit, VOCroc.m', 'By the function `len`.')
    """
    return WORDS.get(thing) or Words(f"By the function `{getattr(thing, '__name__', repr(thing))}`.")
