"""Registration."""

from collections.abc import Mapping
from typing import Annotated

from fastapi import APIRouter, Form, Query, Request
from fastapi.responses import Response
from pydantic import ValidationError

from app.access import Action
from app.accounts import service
from app.accounts.schemas import Registration
from app.addresses import local_path
from app.errors import RegistrationClosedError
from app.forms import field_errors
from app.rate_limits import Limited
from app.sessions.pages import browser_of, logged_in
from app.web import ThePlatform, limited, render, requires

router = APIRouter()

TextField = Annotated[str, Form()]
NextPage = Annotated[str, Form(alias="next")]


def _form_page(
    request: Request, template: str, form: Mapping[str, str], problems: Mapping[str, str], code: int = 422
) -> Response:
    """The form once more, with what was typed and what is wrong with it."""
    shown = {name: value for name, value in form.items() if name != "password"}
    return render(
        request,
        template,
        code=code,
        form=shown,
        problems=problems,
        next=local_path(form.get("next", "/")),
        is_interrupted=False,
    )


@router.get("/register", dependencies=[requires(Action.REGISTER)])
def registration(request: Request, next_page: Annotated[str, Query(alias="next")] = "/") -> Response:
    """The form for a new account."""
    return _form_page(request, "accounts/register.html", {"next": next_page}, {}, 200)


@router.post("/register", dependencies=[requires(Action.REGISTER), limited(Limited.REGISTER)])
def register(
    request: Request,
    platform: ThePlatform,
    email: TextField = "",
    name: TextField = "",
    password: TextField = "",
    next_page: NextPage = "/",
) -> Response:
    """Create an account and log in."""
    if not platform.settings.may_register_with_password:
        raise RegistrationClosedError("Accounts with a password cannot be made here")
    form = {"email": email, "name": name, "password": password, "next": next_page}
    try:
        token = service.register(platform, Registration.model_validate(form), browser_of(request))
    except ValidationError as error:
        return _form_page(request, "accounts/register.html", form, field_errors(error))
    return logged_in(request, platform, token, next_page)
