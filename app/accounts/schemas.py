"""The form for a new account."""

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, ValidationInfo, field_validator

from app.names import MailAddress, Visible
from app.passwords.service import accepted_password

# not trimmed: a password is what was typed
Password = Annotated[
    str, StringConstraints(strip_whitespace=False), Field(description="at least 10 characters")
]


class Registration(BaseModel):
    """The form for a new account."""

    model_config = ConfigDict(extra="ignore", str_strip_whitespace=True, frozen=True)

    email: Annotated[MailAddress, Field(description="where we can reach you")]
    name: Annotated[str, Field(min_length=2, max_length=80, description="as it is shown to others"), Visible]
    password: Password

    @field_validator("password")
    @classmethod
    def _accepted(cls, password: str, others: ValidationInfo) -> str:
        return accepted_password(password, others.data.get("email", ""), others.data.get("name", ""))
