"""The tus protocol, by which an interrupted upload is resumed: its version, headers and responses."""

import base64
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from email.utils import format_datetime
from typing import Annotated

from fastapi import Depends, Header, Response

from app.core.errors import BadRequestError, LengthRequiredError, ProtocolVersionError, UnsupportedTypeError
from app.web.error_responses import TUS_VERSION

TUS_EXTENSIONS = "creation,creation-with-upload,expiration,termination"
PIECE_TYPE = "application/offset+octet-stream"  # of a request that carries bytes


def speaks_tus(
    tus_resumable: Annotated[str | None, Header(description=f"always {TUS_VERSION}")] = None,
    upload_concat: Annotated[str | None, Header(include_in_schema=False)] = None,
) -> None:
    """Refuse clients of another protocol version, or of an extension that is not announced."""
    if tus_resumable != TUS_VERSION:
        raise ProtocolVersionError(f"Tus-Resumable must be {TUS_VERSION}, found {tus_resumable}")
    if upload_concat is not None:
        message = "this server does not support the extension concatenation; send the archive as one upload"
        raise BadRequestError(f"Upload-Concat: {message}")


TUS = Depends(speaks_tus)

Length = Annotated[str | None, Header(alias="Upload-Length", description="bytes of the whole file")]
ContentType = Annotated[str, Header(alias="Content-Type", include_in_schema=False)]


async def _declared_size(
    length: Annotated[int | None, Header(alias="Content-Length", ge=0, include_in_schema=False)] = None,
) -> int:
    if length is None:
        raise LengthRequiredError("send the size of the file in the header Content-Length")
    return length


async def _start_of_piece(
    offset: Annotated[
        str | None, Header(alias="Upload-Offset", description="how many bytes have been uploaded so far")
    ] = None,
    content_type: Annotated[str, Header(alias="Content-Type", include_in_schema=False)] = "",
) -> int:
    if content_type != PIECE_TYPE:
        raise UnsupportedTypeError(f"Content-Type must be {PIECE_TYPE}")
    return parse_size(offset or "", "Upload-Offset")


DeclaredSize = Annotated[int, Depends(_declared_size)]  # of a file that is the body of one request
StartOfPiece = Annotated[int, Depends(_start_of_piece)]  # where the bytes in a PATCH begin


@dataclass(frozen=True, slots=True)
class Incoming:
    """A file that is arriving, as its client is told of it. address: where its bytes are sent."""

    address: str
    size: int
    received: int
    expires_at: datetime | None = None
    metadata: Mapping[str, str] = field(default_factory=dict[str, str])

    @property
    def _state(self) -> dict[str, str]:
        expires = format_datetime(self.expires_at, usegmt=True) if self.expires_at is not None else ""
        found = {"Tus-Resumable": TUS_VERSION, "Upload-Offset": str(self.received), "Upload-Expires": expires}
        return {name: value for name, value in found.items() if value}

    def created(self) -> Response:
        """Answer the request that began it."""
        return Response(status_code=201, headers={"Location": self.address, **self._state})

    def appended(self) -> Response:
        """Answer the request that sent more of it."""
        return Response(status_code=204, headers=self._state)

    def where(self) -> Response:
        """Answer how much of it has arrived."""
        about = {"Upload-Length": str(self.size), "Cache-Control": "no-store"}
        if self.metadata:
            about["Upload-Metadata"] = format_metadata(self.metadata)
        return Response(headers=self._state | about)


def removed() -> Response:
    """Answer the request that removed an upload."""
    return Response(status_code=204, headers={"Tus-Resumable": TUS_VERSION})


def parse_metadata(header: str) -> dict[str, str]:
    """Parse `Upload-Metadata`: keys with Base64 values, separated by commas.

    Raises BadRequestError for anything else.

    >>> parse_metadata("filename cmVzdWx0cy56aXA=, is_final")
    {'filename': 'results.zip', 'is_final': ''}
    """
    found: dict[str, str] = {}
    for pair in filter(None, (part.strip() for part in header.split(","))):
        key, _, encoded = pair.partition(" ")
        if key in found:
            raise BadRequestError(f"Upload-Metadata: the key {key!r} appears twice")
        try:
            found[key] = base64.b64decode(encoded, validate=True).decode()
        except UnicodeDecodeError:
            raise BadRequestError(f"Upload-Metadata: the value of {key!r} is not UTF-8") from None
        except ValueError:  # binascii's, or for a letter beyond ASCII
            raise BadRequestError(f"Upload-Metadata: {encoded!r} is not Base64") from None
    return found


def format_metadata(values: Mapping[str, str]) -> str:
    """Format values as `Upload-Metadata`.

    >>> format_metadata({"filename": "results.zip"})
    'filename cmVzdWx0cy56aXA='
    """
    return ",".join(f"{key} {base64.b64encode(value.encode()).decode()}" for key, value in values.items())


def parse_sha256(text: str) -> str | None:
    """Parse a hexadecimal SHA-256 of the whole file; None for an empty text.

    Raises BadRequestError.
    """
    if not text:
        return None
    if not re.fullmatch("[0-9a-f]{64}", text.lower()):
        raise BadRequestError(f"Upload-Metadata: sha256 must have 64 hexadecimal digits, found {text!r}")
    return text.lower()


def parse_size(text: str, header: str) -> int:
    """Parse a number of bytes.

    Raises BadRequestError.

    >>> parse_size("12", "Upload-Length")
    12
    """
    if not re.fullmatch(r"\d{1,18}", text, re.ASCII):
        raise BadRequestError(f"{header}: expected a number of bytes, found {text!r}")
    return int(text)
