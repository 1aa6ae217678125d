"""Kombu's Redis transport, in which failed acknowledgements do not reduce a worker's capacity."""

from typing import Any

from kombu.transport import TRANSPORT_ALIASES, redis, virtual


class BestEffortAckQoS(redis.QoS):
    """Counts a message as done even if its acknowledgement fails.

    A worker holds at most as many messages as it has processes. A message whose acknowledgement timed out would count
    forever; after enough of them, the worker would silently stop receiving messages. The broker redelivers such a message
    later, which only costs a database query.
    """

    def ack(self, delivery_tag: str) -> None:
        """Acknowledge a message."""
        try:
            super().ack(delivery_tag)
        except BaseException:
            virtual.QoS.ack(self, delivery_tag)
            raise

    def reject(self, delivery_tag: str, requeue: bool = False) -> None:  # noqa: FBT001, FBT002 - kombu's own
        """Reject a message."""
        try:
            super().reject(delivery_tag, requeue)
        except BaseException:
            virtual.QoS.ack(self, delivery_tag)
            raise


class BestEffortAckChannel(redis.Channel):
    """A channel with `BestEffortAckQoS`."""

    QoS: Any = BestEffortAckQoS


class Transport(redis.Transport):
    """A transport with such channels."""

    Channel: Any = BestEffortAckChannel


def use_best_effort_transport() -> None:
    """Use this transport for every new connection of this process to Redis or Valkey."""
    for scheme in ("redis", "rediss"):
        TRANSPORT_ALIASES[scheme] = f"{__name__}:{Transport.__name__}"
