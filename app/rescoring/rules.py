"""What can be scored again."""

from app.models import EntryState


def rescore_refusal(state: EntryState) -> str | None:
    """Why an entry in this state is not scored again; none if it may be.

    >>> rescore_refusal(EntryState.WITHDRAWN), rescore_refusal(EntryState.FAILED)
    ('was withdrawn', None)
    """
    return {
        EntryState.PENDING: "is not scored yet; it is in the queue",
        EntryState.WITHDRAWN: "was withdrawn",
        EntryState.REPLACED: "was replaced by a newer result of its method",
    }.get(state)
