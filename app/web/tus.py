"""The tus protocol, by which an interrupted upload is resumed: its version, extensions and headers."""

import base64
import re
from collections.abc import Mapping
from typing import Annotated

from fastapi import Depends, Header

from app.core.errors import BadRequestError, ProtocolVersionError
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
Offset = Annotated[
    str | None, Header(alias="Upload-Offset", description="how many bytes have been uploaded so far")
]
ContentLength = Annotated[int | None, Header(alias="Content-Length", ge=0, include_in_schema=False)]
ContentType = Annotated[str, Header(alias="Content-Type", include_in_schema=False)]


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
