"""Commands that cannot be carried out as they are said."""

from scoring.errors import Problem


class WrongUseError(Exception):
    """What a command asks for does not exist, or its words make no sense; `problem` says what."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.problem = Problem(code, message)
