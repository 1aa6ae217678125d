"""When a result can have anonymous links, and what they show."""

from datetime import UTC, datetime

import pytest

from app.core.errors import NoLink
from app.models import ResultState
from app.results.anonymous_links import MOST_LINKS, LinkState, link_refusals, link_state, reveal_refusal

NOW = datetime(2026, 11, 22, tzinfo=UTC)


@pytest.mark.parametrize(
    ("revoked", "revealed", "state"),
    [
        (None, None, LinkState.ANONYMOUS),
        (None, NOW, LinkState.REVEALED),
        (NOW, None, LinkState.REVOKED),
        (NOW, NOW, LinkState.REVOKED),
    ],
)
def test_a_revoked_link_stays_revoked_even_if_it_was_revealed(
    revoked: datetime | None, revealed: datetime | None, state: LinkState
) -> None:
    assert link_state(revoked, revealed) is state


def test_a_private_result_with_a_score_can_have_a_link() -> None:
    assert link_refusals(ResultState.SCORED, is_public=False, is_embargoed=False, links=MOST_LINKS - 1) == ()


def test_all_reasons_against_a_link_are_given_at_once() -> None:
    found = link_refusals(ResultState.PENDING, is_public=True, is_embargoed=True, links=MOST_LINKS)

    assert [each.code for each in found] == [NoLink.code] * 4
    assert [each.message.split()[0] for each in found] == ["only", "the", "scores", "this"]


@pytest.mark.parametrize(
    ("state", "is_public", "words"),
    [
        (LinkState.ANONYMOUS, True, None),
        (LinkState.REVEALED, True, None),
        (LinkState.ANONYMOUS, False, "make the method public first"),
        (LinkState.REVOKED, True, "was revoked"),
    ],
)
def test_only_a_link_to_a_public_method_can_be_revealed(
    state: LinkState, words: str | None, *, is_public: bool
) -> None:
    refusal = reveal_refusal(state, is_public=is_public)

    assert (refusal.message if refusal else None) == words or (refusal and words and words in refusal.message)
