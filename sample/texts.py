"""What the sample challenge says about itself."""

from typing import Final

TITLE: Final = "Sample challenge"
TAGLINE: Final = "Find balls, birds, boats and seven other things in drawn scenes, by day and by night."
OVERVIEW: Final = """\
Ten classes of things stand, swim and fly in drawn scenes: meadows, towns, shores and lakes, at noon, at dusk, at night and in snow. Your method
says **what** is in an image, **where** it is, **which pixels** belong to it, and **what people do**. It is a whole challenge in the manner of
PASCAL VOC, small enough to try in an afternoon.

The development kit on the page [Data](/challenges/sample/data) has everything to begin with, and a baseline of forty lines: `python3 baseline.py images train test 1`
writes an archive that beats chance.

*Everything here is made up*: the scenes are drawn by a program, and teams, methods and results belong to nobody. The scores are real: they
come from the same checks, the same scorer and the same leaderboards as those of any other challenge.
"""
RULES: Final = """\
The given data are the images of `train` and `val` with their annotation. For results on `val`, train on `train` alone; for
`pilot` and `test` you may train on both. Predict on `pilot` and `test`, and do not train on them.
"""
ORGANISERS: Final = "Made up, too. The link that `make run` prints makes you an organiser."
ASKED_BY: Final = "lantern"  # the key of a team
NEWS: Final = (
    (
        36.0,
        "The pilot is open",
        (
            "Training images with annotation and the images of `pilot` are on the page [Data](/challenges/sample/data). Until it closes, "
            "scores are shown in tenths of a percent, and afterwards with all their details; its annotation is never offered for download."
        ),
    ),
    (
        15.0,
        "The test set is open",
        (
            "The images of `test` are on the page [Data](/challenges/sample/data). Every team may submit three results in seven days for each task, and thirty in total. "
            "Until the test is over, scores are shown in tenths of a percent, and afterwards with all their details; its annotation is never "
            "offered for download."
        ),
    ),
    (
        3.0,
        "Halfway through the test phase",
        (
            "Thank you for the results so far. A hint for detectors: the error analysis of your results on `val` shows what costs them most: "
            "loose boxes, kites that are taken for birds, or objects that are missed."
        ),
    ),
)
"""Announcements: how many days before the first start each was published, its title and its text."""
QUESTION: Final = (
    "Do distant people count?",
    "Some people on the far side of the meadows are smaller than 20 pixels. Is a method punished for missing them?",
    (
        "No. What is less than 26 pixels wide and high is annotated as *difficult*: it counts neither as missed if you do not find it, nor as a false "
        "positive if you do."
    ),
)
"""A question with its answer: title, what was asked, what was answered."""
ASKED, ANSWERED = 12.4, 12.1  # days before the first start
