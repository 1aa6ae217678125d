"""What can go wrong for a reason that a person should hear: errors of the domain, without HTTP in them."""


class NotFoundError(Exception):
    """There is nothing at this address; the sentence says what was looked for."""


class ForbiddenError(Exception):
    """The person may not do this; the sentence says who may."""


class LoginNeededError(Exception):
    """Only somebody who is logged in may do this."""


class ConflictError(Exception):
    """What was asked for does not fit what is there now."""


class OffsetError(ConflictError):
    """Bytes came for another place than where the upload stands."""

    def __init__(self, received: int) -> None:
        super().__init__(f"the upload stands at byte {received}; go on from there")
        self.received = received


class TooLargeError(Exception):
    """More bytes than are taken; the sentence states the limit."""


class MalformedError(Exception):
    """A request that cannot be understood; the sentence says what was expected."""
