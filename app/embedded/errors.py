"""The error of an embedded installation that cannot run."""


class EmbeddedError(Exception):
    """The servers cannot be started; the message says what to change."""
