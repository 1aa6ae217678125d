"""Units of sizes, in bytes."""

from typing import Final

MiB: Final = 1 << 20
GiB: Final = 1 << 30
