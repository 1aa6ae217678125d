"""Settings of tests in which one address does what many people do."""

from typing import Any

from app.core.rate_limits import Limited

UNLIMITED: dict[str, Any] = {f"limit_{what}": "1000000/second" for what in Limited} | {"requests_at_once": 64}
