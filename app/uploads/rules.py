"""What an upload may be called, and where the next bytes go."""

import unicodedata

LONGEST_NAME = 120


def shown_name(filename: str) -> str:
    r"""The name of an archive as it is kept and shown: no folders, nothing that hides, not too long.

    It never becomes a path; the server names files by their content.

    >>> shown_name("../../tmp/evil\x1b[2J.tar.gz"), shown_name("")
    ('evil[2J.tar.gz', 'archive')
    """
    last = filename.replace("\\", "/").rsplit("/", 1)[-1]
    seen = "".join(letter for letter in last if unicodedata.category(letter)[0] != "C").strip(" .")
    return seen[-LONGEST_NAME:] or "archive"
