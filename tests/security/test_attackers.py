"""Short runs of the attackers: they succeed on open labels and stay below their bounds on hidden ones."""

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from app.challenges.disclosure import DISCLOSURE_LEVELS
from app.models import Disclosure
from tests.security.attackers.ranks import attack
from tests.security.attackers.server import YEAR, QuotaError, Server, Setting
from tests.security.attackers.table import (
    ATTACKS,
    BOUNDS,
    ROWS,
    WITH_INTERVALS,
    Cell,
    Size,
    gains,
    markdown,
    measure,
)
from tests.security.attackers.world import draw, recovered

pytestmark = pytest.mark.slow

SHORT = Size(images=300, classes=4, seeds=2)
HIDDEN = [row for row in ROWS if row != "full"]


@pytest.mark.sampled
@pytest.mark.parametrize("attack_name", list(ATTACKS))
@pytest.mark.parametrize("row", HIDDEN)
def test_no_attacker_recovers_more_than_its_bound(row: str, attack_name: str) -> None:
    assert measure(row, attack_name, 1, replace(SHORT, seeds=1)).largest <= BOUNDS[row]


def test_curves_reveal_every_label_if_they_are_shown() -> None:
    world = draw(0, SHORT.images, SHORT.classes)

    assert measure("full", "curve decoding", 1, SHORT).mean == pytest.approx(
        np.mean([draw(seed, SHORT.images, SHORT.classes).labels.mean() for seed in (0, 1)])
    )
    assert recovered(world, world.labels) == world.labels.mean()


def test_class_values_reveal_something_to_attackers() -> None:
    assert measure("classes", "solving for ranks", 1, SHORT).mean > 0
    assert measure("classes", "painting", 1, SHORT).mean > 0


def test_an_attacker_has_the_default_quota_of_a_year() -> None:
    world = draw(0, 50, 3)
    server = Server(world, Setting(Disclosure.CLASSES))

    attack(server, np.random.default_rng(0))

    assert YEAR == 30
    assert server.budget("images") == 0
    with pytest.raises(QuotaError):
        server.rank_images([np.arange(50)] * 3)


def test_the_table_has_a_row_for_every_disclosure() -> None:
    cells = [Cell(row, name, 1, (0.0046, 0.02)) for row in ROWS for name in ATTACKS]

    table = markdown(cells, 1)

    assert table.count("1.23 (2.00)") == len(ROWS) * len(ATTACKS)
    assert [line.split("`")[1] for line in table.splitlines()[2:]] == list(ROWS)


def test_gains_from_intervals_are_measured_on_the_same_worlds() -> None:
    without = [Cell("mean", name, 1, (0.01, 0.02, 0.5)) for name in WITH_INTERVALS]
    shown = [Cell("mean", name, 1, (0.02, 0.02), intervals=True) for name in WITH_INTERVALS]

    assert gains([*without, *shown]).count("+0.50 (+1.00)") == len(WITH_INTERVALS)


def test_a_ladder_reveals_something_to_a_climbing_attacker() -> None:
    assert measure("ladder", "climbing", 1, SHORT).largest > 0


def test_figures_for_organisers_match_the_table_in_the_security_document() -> None:
    text = (Path(__file__).parents[2] / "SECURITY.md").read_text()
    table = text.split("<!-- attackers 1 -->")[1].split("<!-- end of attackers 1 -->")[0]
    largest = {
        line.split("`")[1]: max(map(float, re.findall(r"\((-?\d+\.\d+)\)", line)))
        for line in table.splitlines()
        if "`" in line
    }

    said = {row: leak.recovered for row, leak in DISCLOSURE_LEVELS.items() if leak.recovered is not None}
    assert said == {row: largest[row] for row in said}
    assert all(100 * bound >= largest[row] for row, bound in BOUNDS.items())
