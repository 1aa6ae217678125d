import math

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from heldout_scoring.metrics.matching import iou_inclusive
from tests.scoring import oracles
from tests.scoring.oracles import Corners

pixel = st.floats(-1e6, 1e6)
box = st.tuples(pixel, pixel, pixel, pixel)


@given(box, box)
def test_the_iou_equals_that_of_a_plain_loop_to_the_last_bit(one: Corners, other: Corners) -> None:
    found = iou_inclusive(np.array([one]), np.array([other])).item()

    plain = oracles.iou(one, other)
    assert found == (0.0 if math.isinf(plain) else plain)


def test_edge_pixels_belong_to_the_box() -> None:
    assert iou_inclusive(np.array([[10.0, 10, 10, 10]]), np.array([[10.0, 10, 10, 10]])).item() == 1.0
    assert iou_inclusive(np.array([[1.0, 1, 2, 2]]), np.array([[2.0, 2, 3, 3]])).item() == 1 / 7


def test_pairs_of_boxes_are_broadcast() -> None:
    boxes = np.array([[1.0, 1, 10, 10], [1, 1, 10, 5], [50, 50, 60, 60]])

    assert iou_inclusive(boxes, boxes[0]).tolist() == [1.0, 0.5, 0.0]
    assert iou_inclusive(boxes[:, None], boxes).shape == (3, 3)
