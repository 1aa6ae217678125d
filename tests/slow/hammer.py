"""`python -m tests.slow.hammer ADDRESS TOKEN PHASE`: one account that asks for all that is dear, until it is stopped."""

import asyncio
import itertools
import sys
import uuid

import httpx2

CONNECTIONS = 64
ARCHIVE = b"not an archive " * 1000


async def ask(client: httpx2.AsyncClient, number: int, phase: str) -> None:
    """One request, of each kind in turn."""
    person = {"email": f"nobody{number}@example.org", "name": "Nobody", "password": "a password for nothing"}
    nothing = uuid.uuid4()
    requests = (
        client.post("/login", data=person, headers={"Authorization": ""}),
        client.post("/register", data=person, headers={"Authorization": ""}),
        client.post("/forgot-password", data=person, headers={"Authorization": ""}),
        client.put(f"/api/v1/editions/{phase}/uploads", params={"filename": "a.tar"}, content=ARCHIVE),
        client.post(f"/api/v1/uploads/{nothing}/check"),
        client.post(
            "/api/v1/submissions", json={"upload": str(nothing), "method": {"name": "x"}, "training": {}}
        ),
    )
    chosen = number % len(requests)
    for place, request in enumerate(requests):
        if place == chosen:
            await request
        else:
            request.close()


async def main(address: str, token: str, phase: str) -> None:
    """Keep so many connections busy."""
    numbers = itertools.count()
    headers = {"Authorization": f"Bearer {token}"}
    limits = httpx2.Limits(max_connections=CONNECTIONS)
    async with httpx2.AsyncClient(base_url=address, headers=headers, limits=limits, timeout=60) as client:

        async def hammer() -> None:
            while True:
                try:
                    await ask(client, next(numbers), phase)
                except httpx2.HTTPError:
                    await asyncio.sleep(0.01)

        await asyncio.gather(*(hammer() for _ in range(CONNECTIONS)))


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
