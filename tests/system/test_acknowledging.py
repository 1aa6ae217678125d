"""Messages that a worker could not acknowledge because the broker did not answer."""

from collections.abc import Iterator
from typing import Any

import pytest
from kombu import Connection, Consumer, Queue
from redis.exceptions import TimeoutError as NoAnswerError

from tests.patience import LIMIT
from tests.system.servers import OwnServers
from worker.transport import Transport

pytestmark = pytest.mark.system

QUEUE = Queue("acknowledging")


@pytest.fixture
def connection(own_servers: OwnServers) -> Iterator[Any]:
    options = {"socket_timeout": 0.2, "socket_connect_timeout": 0.2}
    with Connection(
        own_servers.urls.broker_url, transport=Transport, transport_options=options
    ) as connection:
        yield connection
        QUEUE(connection.default_channel).delete()


@pytest.mark.parametrize("way", ["ack", "reject", "requeue"])
def test_a_message_that_cannot_be_acknowledged_does_not_block_others(
    own_servers: OwnServers, connection: Any, way: str
) -> None:
    received: list[Any] = []
    with connection.Producer() as producer:
        for body in ("first", "second"):
            producer.publish(body, routing_key=QUEUE.name, declare=[QUEUE])
    with Consumer(connection, [QUEUE], on_message=received.append, prefetch_count=1):
        connection.drain_events(timeout=LIMIT)
        [first] = received

        with own_servers.broker_paused(), pytest.raises(NoAnswerError):
            getattr(first, way)()
        connection.drain_events(timeout=LIMIT)

    assert sorted(message.payload for message in received) == ["first", "second"]
