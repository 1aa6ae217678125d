"""What the page after an act says of it: the sentence stands at the act's route, its key travels in a cookie for one page."""

from hashlib import sha256
from html import escape
from typing import Final

from fastapi import Request
from starlette.datastructures import MutableHeaders
from starlette.responses import Response
from starlette.types import Message, Send

from app.core.caching import Splice

COOKIE: Final = "heldout_done"
SECONDS: Final = 60  # within which the next page has to come
MARKER: Final = b"<!-- done -->"  # where pages say it
TICK: Final = (
    '<svg class="icon" viewBox="0 0 16 16" width="16" height="16" aria-hidden="true">'
    '<path fill="currentColor" d="M13.7 4.7 6.6 12.6 2.3 8.6l1.3-1.5 2.9 2.7 5.7-6.4Z" /></svg>'
)
_sentences: Final[dict[str, str]] = {}  # of all routes; a cookie can only choose one of them


def register(sentence: str) -> str:
    """Return the key of a sentence that pages may say."""
    key = sha256(sentence.encode()).hexdigest()[:12]
    if sentence:
        _sentences[key] = sentence
    return key


def splices_of_done(request: Request) -> tuple[Splice, ...]:
    """Return what makes this page say what was done on the last one, once; nothing on most pages."""
    sentence = _sentences.get(request.cookies.get(COOKIE, ""))
    if sentence is None:
        return ()
    request.state.has_said = True
    return (Splice(MARKER, f'<p class="flash" role="status">{TICK}{escape(sentence)}</p>'.encode()),)


def saying(sentence: str, send: Send, *, secure: bool) -> Send:
    """Let the page that a successful act leads to say this sentence."""
    key = register(sentence)

    async def send_saying(message: Message) -> None:
        if message["type"] == "http.response.start" and message["status"] == 303:
            _set(message, key, SECONDS, secure=secure)
        await send(message)

    return send_saying


def forget(message: Message) -> None:
    """Let a page that has said it be the only one, and stay in no cache."""
    _set(message, "", 0, secure=False)
    MutableHeaders(scope=message)["Cache-Control"] = "no-store"


def _set(message: Message, value: str, seconds: int, *, secure: bool) -> None:
    cookie = Response()
    cookie.set_cookie(COOKIE, value, max_age=seconds, httponly=True, samesite="lax", secure=secure)
    MutableHeaders(scope=message).append("set-cookie", cookie.headers["set-cookie"])
