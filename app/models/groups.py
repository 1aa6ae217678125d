"""Groups of methods that cannot be told apart."""

from datetime import datetime
from typing import Any

from sqlalchemy import ForeignKeyConstraint
from sqlalchemy.orm import Mapped, mapped_column

from app.models.editions import Board
from app.models.table import Base


class BoardGroups(Base):
    """The compact letter display of a board's public methods, from the paired bootstrap over images."""

    __tablename__ = "board_groups"
    __table_args__ = (
        ForeignKeyConstraint(
            ["phase_id", "competition"], [Board.phase_id, Board.competition], ondelete="CASCADE"
        ),
    )
    phase_id: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    competition: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    version: Mapped[str]  # of the runs that were compared
    letters: Mapped[dict[str, Any]]  # by number of the run; for those alone who see details
    as_of: Mapped[datetime]  # when the runs were read
