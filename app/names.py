"""Names and addresses as people spell them."""

import unicodedata

from pydantic import AfterValidator


def folded(text: str) -> str:
    """The form under which two spellings of a name are one: NFKC, case folded, trimmed.

    >>> folded(" ADMIN ") == folded("admin")
    True
    """
    return unicodedata.normalize("NFKC", text).casefold().strip()


def is_visible(name: str) -> bool:
    r"""Whether a name shows what it is: something to see, no control, format or unassigned characters.

    >>> is_visible("LEAR_flat"), is_visible("admin\u200b"), is_visible("  "), is_visible("\u202egro.evil")
    (True, False, False, False)
    """
    kinds = [unicodedata.category(character) for character in name]
    return any(kind[0] in "LNPS" for kind in kinds) and not any(
        kind[0] == "C" or kind in ("Zl", "Zp") for kind in kinds
    )


def _visible(name: str) -> str:
    if not is_visible(name):
        message = "must have visible characters, and no control or invisible ones"
        raise ValueError(message)
    return name


Visible = AfterValidator(_visible)
