"""Programs that the supervisor starts."""

import socket
from importlib.util import find_spec

from app.core.settings import Settings
from app.operations.processes import sender_command, sweeper_command, web_command, worker_command


def test_forked_children_do_not_import_the_main_program_again() -> None:
    with socket.socket() as listener:
        workers = (worker_command(Settings(workers=1)), sender_command(), sweeper_command())
        commands = (web_command(listener), *workers)

    programs = [command[command.index("-m") + 1] for command in commands]

    # multiprocessing imports the main program in each child, unless it is the `__main__` of a package
    assert [program for program in programs if find_spec(f"{program}.__main__") is None] == []
