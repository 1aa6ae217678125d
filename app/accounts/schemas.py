"""The form for a new account."""

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from app.names import Visible

Password = Annotated[str, Field(min_length=10, max_length=200, description="at least 10 characters")]
Email = Annotated[
    str, Field(max_length=254, pattern=r"^[^@\s]+@[^@\s]+\.[^@\s]+$", description="where we can reach you")
]


class Registration(BaseModel):
    """The form for a new account."""

    model_config = ConfigDict(extra="ignore", str_strip_whitespace=True, frozen=True)

    email: Email
    name: Annotated[str, Field(min_length=2, max_length=80, description="as it is shown to others"), Visible]
    password: Password
