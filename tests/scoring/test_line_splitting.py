import re

from hypothesis import given
from hypothesis import strategies as st

from heldout_scoring.readers import lines
from heldout_scoring.readers.lines import with_single_blanks

blocks = st.lists(st.sampled_from([b"a", b" ", b"\t", b"\n", b"b c\n"]), max_size=12).map(b"".join)


def tidied(block: bytes) -> list[bytes]:
    return [b" ".join(line.split()) for line in re.sub(rb"\t", b" ", block).split(b"\n")]


@given(blocks)
def test_fields_end_up_separated_by_one_blank_with_every_line_kept(block: bytes) -> None:
    found = with_single_blanks(block, keep_blank_lines=True)

    assert [line.removesuffix(b" ") for line in found.split(b"\n")] == tidied(block)


@given(blocks)
def test_blank_lines_can_be_dropped(block: bytes) -> None:
    found = with_single_blanks(block)

    assert found.removesuffix(b"\n").split(b"\n") == ([line for line in tidied(block) if line] or [b""])


def test_a_block_that_is_tidy_already_is_not_copied() -> None:
    block = b"a b\n" * lines._PIECE

    assert with_single_blanks(block) is block
    assert with_single_blanks(block, keep_blank_lines=True) is block


def test_adjacent_blanks_are_found_across_pieces() -> None:
    block = b"a" * (lines._PIECE - 1) + b"  b\n"

    assert with_single_blanks(block) == b"a" * (lines._PIECE - 1) + b" b"
