"""How long tests wait. What they wait for is usually over within a tenth of it, so that a busy machine makes nothing fail."""

from datetime import timedelta

LIMIT = 120  # seconds until a test gives up
START = timedelta(seconds=LIMIT)  # until a process is ready
HANGS = 60  # seconds for which a server, a receiver or a name hangs that is to be left before
