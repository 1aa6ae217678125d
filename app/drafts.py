"""Forms that were sent without a valid session, kept through the login so that nothing typed is lost."""

import json
from collections.abc import Iterable, Mapping
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, ValidationError

MAX_DRAFT_BYTES = 1 << 16


class Draft(BaseModel):
    """A form that was sent after the session had expired: kept through the login, then filled in again.

    It names the session by its hash, so that nobody else who logs in on that page finds it filled in.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    action: Annotated[str, Field(max_length=2000)]  # where it was sent
    page: Annotated[str, Field(max_length=2000)]  # where the form stands
    fields: dict[str, list[str]]
    session: Annotated[str, Field(pattern="^[0-9a-f]{64}$")] | None = None  # hash of the one it was sent in

    @classmethod
    def carried(cls, text: str) -> "Draft | None":
        """The form that a page carried as `draft_of` wrote it; none where there is none or it is not one of ours."""
        try:
            return cls.model_validate_json(text) if text else None
        except ValidationError:
            return None

    def value(self, action: str, name: str) -> str:
        """What was typed into this field, if it was a form of this address."""
        return "".join(self.fields.get(name, [])[-1:]) if action == self.action else ""


DraftText = Annotated[str, Field(max_length=MAX_DRAFT_BYTES)]


def draft_of(action: str, page: str, fields: Iterable[tuple[str, str]], session: str | None = None) -> str:
    """A form that could not be accepted, as the login page carries it; "" for one without fields or a huge one.

    >>> draft_of("/account/tokens", "/account", [("name", "laptop")])
    '{"action": "/account/tokens", "page": "/account", "fields": {"name": ["laptop"]}, "session": null}'
    """
    values: dict[str, list[str]] = {}
    for name, value in fields:
        if "password" not in name:
            values.setdefault(name, []).append(value.replace("\0", ""))
    draft = json.dumps({"action": action, "page": page, "fields": values, "session": session})
    return draft if values and len(draft) <= MAX_DRAFT_BYTES else ""


def refilled(form: Mapping[str, object], fields: Mapping[str, list[str]]) -> dict[str, object]:
    """A form with the values of a draft: several where the form has several, numbers where they can be.

    >>> refilled({"method": "", "competition": [3, 4]}, {"method": ["oak"], "competition": ["4"]})
    {'method': 'oak', 'competition': [4]}
    """
    several = {
        name: [int(text) if text.isdecimal() else text for text in fields.get(name, [])]
        for name, value in form.items()
        if isinstance(value, list | tuple)
    }
    return dict(form) | {name: values[-1] for name, values in fields.items() if values} | several
