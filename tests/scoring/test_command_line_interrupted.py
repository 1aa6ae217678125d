import os
import signal
import threading
from pathlib import Path

import pytest

from heldout_scoring.command_line import main


def interrupt_whoever_reads(path: Path) -> None:
    """Send Ctrl-C to the process that is reading from this pipe."""
    with path.open("wb", buffering=0) as pipe:
        pipe.write(bytes(1 << 17))  # more than a pipe holds: the file is open, and somebody reads
        os.kill(os.getpid(), signal.SIGINT)


def test_ctrl_c_ends_a_command_silently(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pipe = tmp_path / "table.csv"
    os.mkfifo(pipe)
    thread = threading.Thread(target=interrupt_whoever_reads, args=(pipe,))
    thread.start()

    assert main(["significance", str(pipe)]) == 130

    thread.join()
    assert capsys.readouterr() == ("", "")
