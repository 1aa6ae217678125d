import pytest

from heldout_scoring.archives.results import Content, ResultFile, batches, is_large
from heldout_scoring.competitions import competition_of

KIB = 1 << 10


def content(number: int, size: int) -> Content:
    competition = competition_of("VOC2012", 1)
    return ResultFile(competition, f"class{number}", f"comp1_cls_test_class{number}.txt", bytes), bytes(size)


def sizes_of(*sizes: int) -> list[list[int]]:
    """The sizes of the files in each batch."""
    contents = [content(number, size) for number, size in enumerate(sizes)]
    made = list(batches(iter(contents)))
    assert [each for batch in made for each in batch] == contents
    return [[len(data) for _, data in batch] for batch in made if batch]


@pytest.mark.parametrize(
    ("sizes", "together"),
    [
        ([], []),
        ([0, 10, 20], [[0, 10, 20]]),
        ([1] * 20, [[1] * 16, [1] * 4]),
        ([10, 512 * KIB, 20], [[10, 512 * KIB], [20]]),
        ([512 * KIB, 512 * KIB], [[512 * KIB], [512 * KIB]]),
        ([500 * KIB, 500 * KIB, 1], [[500 * KIB, 500 * KIB], [1]]),
    ],
)
def test_small_files_are_batched_up_to_a_number_and_a_size(
    sizes: list[int], together: list[list[int]]
) -> None:
    assert sizes_of(*sizes) == together


def test_a_batch_is_large_by_the_total_size_of_its_files() -> None:
    half = 16 << 20

    assert not is_large([content(1, half), content(2, half)])
    assert is_large([content(1, half), content(2, half), content(3, 1)])
