"""Reading lines that the table reader cannot parse."""

from functools import partial

from heldout_scoring.errors import Problems
from heldout_scoring.readers.image_index import ImageIndex
from heldout_scoring.readers.lines import LineReader
from heldout_scoring.tasks import detection_files as detections
from heldout_scoring.tasks import labels_files as rankings
from heldout_scoring.tasks.detection_files import Reading
from tests.scoring.archives import description

INDEX = ImageIndex.of(description())


def test_a_table_of_unexpected_length_is_left_to_the_exact_reader() -> None:
    reading = Reading(INDEX, "comp3_det_test_car.txt", Problems())

    assert detections._read_leniently(b"000001 0.5 1 1 2 2", reading) is None
    assert rankings._read_leniently(b"000001 0.5", INDEX.main) is None


def test_every_line_is_read_by_the_exact_reader_if_the_table_reader_fails() -> None:
    problems = Problems()
    reading = Reading(INDEX, "comp3_det_test_car.txt", problems)
    exactly = partial(detections._read_exactly, reading=reading)
    reader = LineReader(6, lambda _: None, lambda _: None, exactly)

    [found] = reader.read(b"000001 0.5 1 1 2 2\nwrong\n000002 0.25 1 1 3 3\n", reading.file, problems)

    assert found.confidence.tolist() == [0.5, 0.25]
    assert [problem.line for problem in problems.listed] == [2]
