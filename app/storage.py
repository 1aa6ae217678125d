"""Where archives, descriptions and ground truth lie: in folders, named by the hash of their content."""

import hashlib
import os
import uuid
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Storage:
    """A folder of immutable files; what is kept once is never written again."""

    root: Path

    def path(self, key: str) -> Path:
        """Where the content with this sha256 lies."""
        return self.root / "content" / key[:2] / key

    def incoming(self, name: uuid.UUID) -> Path:
        """Where bytes gather until they are complete."""
        folder = self.root / "incoming"
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        return folder / str(name)

    def keep(self, content: bytes) -> str:
        """Store `content`; returns its sha256."""
        path = self.incoming(uuid.uuid4())
        path.write_bytes(content)
        return self.adopt(path)

    def adopt(self, path: Path) -> str:
        """Move a complete file of `incoming` to its place, durably; returns its sha256."""
        with path.open("rb") as file:
            key = hashlib.file_digest(file, "sha256").hexdigest()
            os.fsync(file.fileno())
        home = self.path(key)
        home.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        path.replace(home)
        _flush_folder(home.parent)
        return key


def _flush_folder(folder: Path) -> None:
    """A rename survives a power cut only once its folder is on the disk."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
