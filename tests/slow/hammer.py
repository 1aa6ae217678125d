"""`python -m tests.slow.hammer PORT TOKEN PHASE`: one account that sends expensive requests until it is stopped.

It writes requests and reads responses as bytes, so that it uses a hundredth of a processor and takes none from the server.
"""

import asyncio
import itertools
import re
import sys
import uuid
from collections.abc import Iterator

CONNECTIONS = 64
ARCHIVE = b"not an archive " * 1000
FORM = "application/x-www-form-urlencoded"
BYTES = "application/octet-stream"


def request(
    method: str, path: str, body: bytes = b"", *, media_type: str = FORM, token: str | None = None
) -> bytes:
    """A request in HTTP/1.1."""
    heads = ["Host: 127.0.0.1", f"Content-Length: {len(body)}", f"Content-Type: {media_type}"]
    if token is not None:
        heads.append(f"Authorization: Bearer {token}")
    return "\r\n".join([f"{method} {path} HTTP/1.1", *heads, "", ""]).encode() + body


def requests(token: str, phase: str) -> Iterator[bytes]:
    """One request of each kind in turn."""
    for number in itertools.count():
        person = f"email=nobody{number}%40example.org&name=Nobody&password=a+password+for+nothing".encode()
        nothing = uuid.uuid4()
        new = f'{{"upload": "{nothing}", "method": {{"name": "x"}}, "training": {{}}}}'.encode()
        for page in ("/login", "/register", "/forgot-password"):
            yield request("POST", page, person)
        uploads = f"/api/v1/challenges/{phase}/uploads?filename=a.tar"
        yield request("PUT", uploads, ARCHIVE, media_type=BYTES, token=token)
        yield request("POST", f"/api/v1/uploads/{nothing}/check", token=token)
        yield request("POST", "/api/v1/submissions", new, media_type="application/json", token=token)


async def ask(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, asked: bytes) -> None:
    """Send a request and read its response; raises OSError or EOFError once the connection is closed."""
    writer.write(asked)
    head = (await reader.readuntil(b"\r\n\r\n")).lower()
    length = re.search(rb"content-length: *(\d+)", head)
    await reader.readexactly(int(length[1]) if length else 0)


async def hammer(port: int, asked: Iterator[bytes]) -> None:
    """Keep a connection busy and open another when it is closed."""
    while True:
        try:
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            for each in asked:
                await ask(reader, writer, each)
        except (OSError, EOFError):
            await asyncio.sleep(0.05)


async def main(port: int, token: str, phase: str) -> None:
    """Keep this many connections busy."""
    asked = requests(token, phase)
    await asyncio.gather(*(hammer(port, asked) for _ in range(CONNECTIONS)))


if __name__ == "__main__":
    asyncio.run(main(int(sys.argv[1]), *sys.argv[2:]))
