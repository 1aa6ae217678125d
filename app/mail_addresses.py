"""Which texts are e-mail addresses that we write to."""

import re

# the dot-atom of RFC 5322 and a domain of two labels or more: no quotes, comments, brackets, lists or line breaks
LOCAL = r"[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+(?:\.[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+)*"
LABEL = r"[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?"
ADDRESS = re.compile(rf"(?=.{{3,254}}\Z)(?=[^@]{{1,64}}@){LOCAL}@{LABEL}(?:\.{LABEL})+")


def is_mail_address(text: str) -> bool:
    r"""Whether mail can be sent to this address, and to nobody else.

    >>> is_mail_address("ash.grove+voc@example.org"), is_mail_address("ash@localhost")
    (True, False)
    >>> is_mail_address("a@example.org\nBcc: b@example.org"), is_mail_address("a,b@example.org")
    (False, False)
    """
    return ADDRESS.fullmatch(text) is not None
