"""How this program logs: one line of JSON per event."""

import logging
import sys

import structlog
from structlog.tracebacks import ExceptionDictTransformer


def configure() -> None:
    """Log our events, and warnings of the libraries, to the standard error output."""
    shared: list[structlog.typing.Processor] = [
        structlog.contextvars.merge_contextvars,
        structlog.processors.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        # without the values of variables, which hold passwords and hidden labels
        structlog.processors.ExceptionRenderer(ExceptionDictTransformer(show_locals=False)),
    ]
    structlog.configure(
        processors=[*shared, structlog.processors.JSONRenderer()],
        logger_factory=structlog.PrintLoggerFactory(sys.stderr),
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
