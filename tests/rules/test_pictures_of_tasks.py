"""Which image stands for a task on the page of a competition."""

from app.home.home import Representative, picture_of
from app.images.covers import PublicAnnotation

ANNOTATION = PublicAnnotation(64, 48, ((0.0, 0.0, 10.0, 20.0),))


def picture(task: str, image_set: str, drawn: PublicAnnotation | None = None) -> Representative:
    return Representative(
        task, task, image_set, f"/pictures/a/{image_set}/b", "/thumbnail.jpg", 64, 48, drawn
    )


def test_an_image_with_public_annotation_stands_for_a_task_before_one_without() -> None:
    found = (
        picture("detection", "test"),
        picture("action", "val", ANNOTATION),
        picture("detection", "val", ANNOTATION),
    )

    shown = [picture_of(task, found) for task in ("detection", "action", "segmentation")]
    without = picture_of("detection", found[:2])

    assert [each and each.image_set for each in shown] == ["val", "val", None]
    assert without == found[0]
