"""Logging: one line of JSON per event."""

import logging
import re
import sys
from contextlib import suppress
from io import TextIOBase
from typing import Any, TextIO, cast

import structlog
from structlog.tracebacks import ExceptionDictTransformer

# PostgreSQL's errors repeat the values of rows
ROW_VALUES = re.compile(r"\s*DETAIL: .*?(?=\n\[SQL|\n\(Background|\Z)", re.DOTALL)
EMAIL = re.compile(r"[^\s@'\"(<=]+@[^\s@'\")>]+")


class StandardError(TextIOBase):
    """Standard error that ignores write errors: a full disk under the log must not fail a request or a run."""

    def write(self, text: str) -> int:
        """Write the text if possible, as `logging` does."""
        with suppress(OSError):
            return sys.stderr.write(text)
        return len(text)

    def flush(self) -> None:
        """Flush the buffer if possible."""
        with suppress(OSError):
            sys.stderr.flush()


def configure() -> None:
    """Log our events, and warnings of libraries, to standard error."""
    shared = processors()
    structlog.configure(
        processors=[*shared, structlog.processors.JSONRenderer()],
        logger_factory=structlog.WriteLoggerFactory(cast(TextIO, StandardError())),
        cache_logger_on_first_use=True,
    )
    handler = logging.StreamHandler()
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            processors=[
                structlog.stdlib.ProcessorFormatter.remove_processors_meta,
                structlog.processors.JSONRenderer(),
            ],
            foreign_pre_chain=[*shared, structlog.stdlib.add_logger_name],
        )
    )
    logging.basicConfig(level=logging.WARNING, handlers=[handler], force=True)
    logging.getLogger("celery").setLevel(logging.WARNING)


def processors() -> list[structlog.typing.Processor]:
    """The processors that every event passes before it is written."""
    return [
        structlog.contextvars.merge_contextvars,
        structlog.processors.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        # without the values of local variables, which may hold passwords and hidden labels
        structlog.processors.ExceptionRenderer(ExceptionDictTransformer(show_locals=False)),
        _without_personal_data,
    ]


def _without_personal_data(_logger: object, _method: str, event: structlog.typing.EventDict) -> Any:
    """Redact e-mail addresses and row values, which exceptions and paths may contain."""
    return _redacted(event)


def _redacted(value: Any) -> Any:
    if isinstance(value, str):
        return EMAIL.sub("…@…", ROW_VALUES.sub("", value)) if "@" in value or "DETAIL" in value else value
    if isinstance(value, dict):
        return {name: _redacted(one) for name, one in value.items()}
    return [_redacted(one) for one in value] if isinstance(value, list) else value
