"""Kombu's transport for Redis, with acknowledgements that cost a worker nothing when they fail."""

from typing import Any

from kombu.transport import TRANSPORT_ALIASES, redis, virtual


class ForgivingQoS(redis.QoS):
    """Counts a message as done when its acknowledgement fails, too.

    A worker holds as many messages as it has processes. Each that a broker did not answer in time would stay counted
    for ever, and after as many of them the worker takes no more, without an error. The broker itself delivers such
    a message again later, which costs a look at the database.
    """

    def ack(self, delivery_tag: str) -> None:
        """Acknowledge a message."""
        try:
            super().ack(delivery_tag)
        except BaseException:
            virtual.QoS.ack(self, delivery_tag)
            raise

    def reject(self, delivery_tag: str, requeue: bool = False) -> None:  # noqa: FBT001, FBT002 - kombu's own
        """Give a message back."""
        try:
            super().reject(delivery_tag, requeue)
        except BaseException:
            virtual.QoS.ack(self, delivery_tag)
            raise


class ForgivingChannel(redis.Channel):
    """A channel that counts so."""

    QoS: Any = ForgivingQoS


class Transport(redis.Transport):
    """A transport with such channels."""

    Channel: Any = ForgivingChannel


def use_forgiving_transport() -> None:
    """Have every connection to Redis or Valkey that this process makes from now on use it."""
    for scheme in ("redis", "rediss"):
        TRANSPORT_ALIASES[scheme] = f"{__name__}:{Transport.__name__}"
