"""What an embedded installation says when it cannot run."""


class EmbeddedError(Exception):
    """The servers cannot be had; a sentence for whoever wanted them."""
