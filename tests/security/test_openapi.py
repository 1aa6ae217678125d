"""The API against its own document: no request makes the server fail, and every response is documented."""

import pytest
from fastapi import FastAPI

from tests.security.openapi import faults
from tests.security.test_permissions import FIXED, world
from tests.security.undoing import UndonePlatform
from tests.security.world import World

__all__ = ["world"]

EXAMPLES = 3


@pytest.mark.slow
def test_every_response_to_generated_requests_matches_the_document(
    app: FastAPI, undone: UndonePlatform, world: World
) -> None:
    known = FIXED | world.result("public", is_open=True)

    assert faults(app, undone, world.headers("member"), known, EXAMPLES) == {}
