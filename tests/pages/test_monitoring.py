"""Alert rules and dashboard use only existing metrics, and cover everything that /health and /ready can report."""

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import pytest
import yaml
from prometheus_client import Metric
from sqlalchemy import text

from app.core import counters
from app.jobs import heartbeats
from app.models import Service
from app.operations import metrics
from app.operations.health import CHECKS, BackgroundWork, Health, PartHealth, health_of
from app.operations.metrics import of_disks, of_health
from app.platform import Platform
from tests.system.rows import made

DEPLOY = Path(__file__).parents[2] / "deploy"
RULES = yaml.safe_load((DEPLOY / "alerts.yml").read_text())["groups"][0]["rules"]
DASHBOARD = json.loads((DEPLOY / "grafana.json").read_text())
BY_PROMETHEUS = {"instance", "job"}  # labels of every sample
OPEN = {
    "scorer",
    "method",
    "route",
    "limit",
    "le",
    "instance",
    "job",
}  # labels whose values are not listed here
USE = re.compile(r"\b(heldout_\w+|up)\b(?:\{([^}]*)\})?")
MATCHER = re.compile(r'(\w+)(=~|!~|!=|=)"([^"]*)"')
GROUPING = re.compile(r"\b(?:by|on|without|ignoring) \(([^)]*)\)")

WELL = BackgroundWork(sweep_age=3.0, workers=2, jobs_lag=0.0, dead_jobs=0)
Exposed = Mapping[str, Mapping[str, set[str]]]


@pytest.fixture(scope="module")
def known(platform: Platform) -> Exposed:
    """The label values of each sample that the code exposes, by sample and label."""
    rows = made(platform)
    _, shadow = (rows.run_of(rows.result()) for _ in range(2))
    rows.claim(rows.result())
    with platform.transaction() as session:
        session.execute(text("UPDATE job SET priority = 10 WHERE run_id = :run"), {"run": shadow})
        heartbeats.write_heartbeat(session, "here:1", Service.WORKER, scorer="a", slots=3)
        heartbeats.record_sweep(session)
    for status in (200, 302, 404, 503, None):
        counters.count_request({"method": "GET", "path": "/"}, status, 0.1)
    counters.count_refusal("login")
    with platform.transaction() as session:
        read = metrics.read(session).metrics
    return told_by(
        [
            *(metric for collector in counters.collectors() for metric in collector.collect()),
            *of_health(health_of(WELL, 15), dict.fromkeys(CHECKS, "")),
            *of_disks(dict.fromkeys(("storage", "scratch", "database"), (1, 2))),
            *read,
        ]
    )


def told_by(metrics: Iterable[Metric]) -> Exposed:
    found: dict[str, dict[str, set[str]]] = {"up": {}}
    for metric in metrics:
        for sample in metric.samples:
            for label, value in sample.labels.items():
                found.setdefault(sample.name, {}).setdefault(label, set()).add(value)
            found.setdefault(sample.name, {})
    return found


def expressions() -> Iterator[tuple[str, str, str]]:
    """Every expression with its alert or panel, and the texts that name labels of its result."""
    for rule in RULES:
        yield rule["alert"], rule["expr"], " ".join(rule["annotations"].values())
    for panel in DASHBOARD["panels"]:
        for target in panel.get("targets", ()):
            yield panel["title"], target["expr"], target["legendFormat"]


def unknown(expression: str, told: str, known: Exposed) -> list[str]:
    """Names in an expression or its text that the code does not expose."""
    wrong, labels = [], set(BY_PROMETHEUS)
    for name, matchers in USE.findall(expression):
        if name not in known:
            wrong.append(name)
            continue
        labels |= set(known[name])
        for label, operator, value in MATCHER.findall(matchers):
            if label not in known[name].keys() | BY_PROMETHEUS:
                wrong.append(f"{name}{{{label}}}")
            elif operator == "=" and label not in OPEN and value not in known[name][label]:
                wrong.append(f'{name}{{{label}="{value}"}}')
    named = {label.strip() for group in GROUPING.findall(expression) for label in group.split(",")}
    named |= set(re.findall(r"\{\{ ?(?:\$labels\.)?(\w+)", told))
    return wrong + sorted(named - labels)


def test_every_metric_and_label_of_rules_and_dashboard_is_exposed(known: Exposed) -> None:
    used = list(expressions())

    wrong = {f"{where}: {expression}": unknown(expression, told, known) for where, expression, told in used}

    assert len(used) > 40
    assert {expression: names for expression, names in wrong.items() if names} == {}


@pytest.mark.parametrize(
    ("expression", "told", "wrong"),
    [
        ("max(heldout_queue_length) > 1", "", ["heldout_queue_length"]),
        ('heldout_queue_runs{phase="1"}', "", ["heldout_queue_runs{phase}"]),
        ('heldout_healthy{part="disk"} == 0', "", ['heldout_healthy{part="disk"}']),
        ("max by (scorer, phase) (heldout_queue_runs)", "", ["phase"]),
        ("max(heldout_queue_runs)", "of {{ $labels.team }}", ["team"]),
    ],
)
def test_an_unknown_metric_or_label_is_found(
    expression: str, told: str, wrong: list[str], known: Exposed
) -> None:
    assert unknown(expression, told, known) == wrong


def test_every_exposed_metric_is_on_the_dashboard_or_in_a_rule(known: Exposed) -> None:
    used = {name for _, expression, _ in expressions() for name, _ in USE.findall(expression)}
    families = {re.sub(r"_(bucket|sum|count|gsum|gcount)$", "", name) for name in known}

    assert families - {re.sub(r"_(bucket|sum)$", "", name) for name in used} == set()


BAD = {
    "database": None,
    "sweep, never": replace(WELL, sweep_age=None),
    "sweep, late": replace(WELL, sweep_age=600.0),
    "workers": replace(WELL, workers=0),
    "senders": replace(WELL, senders=0),
    "jobs": replace(WELL, jobs_lag=600.0),
    "dead_jobs": replace(WELL, dead_jobs=1),
}


@pytest.mark.parametrize("state", BAD)
def test_every_bad_state_of_health_has_a_rule(state: str) -> None:
    told = of_health(health_of(BAD[state], 15), {})

    bad = [sample.labels["part"] for metric in told for sample in metric.samples if sample.value == 0]

    assert bad == [state.partition(",")[0]]
    [rule] = [rule for rule in RULES if f'heldout_healthy{{part="{bad[0]}"}}' in rule["expr"]]
    assert rule["expr"].endswith("== 0")


def test_every_part_of_health_is_covered() -> None:
    parts = {field.name for field in fields(Health) if field.type in (PartHealth, "PartHealth")}

    assert parts == {state.partition(",")[0] for state in BAD}


def test_every_check_of_ready_has_a_rule() -> None:
    told = of_health(health_of(WELL, 15), dict.fromkeys(CHECKS, "is away"))

    missing = {each.labels["check"] for metric in told for each in metric.samples if "check" in each.labels}

    assert missing == set(CHECKS)
    assert "heldout_ready == 0" in [rule["expr"] for rule in RULES]


def test_every_rule_has_a_severity_a_summary_and_a_description() -> None:
    for rule in RULES:
        assert rule["labels"]["severity"] in {"warning", "critical"}, rule["alert"]
        assert {"summary", "description"} == set(rule["annotations"]), rule["alert"]
    names = [rule["alert"] for rule in RULES]
    assert len(set(names)) == len(names)


def test_panels_do_not_overlap_and_use_the_chosen_data_source() -> None:
    cells: dict[tuple[int, int], Any] = {}
    for panel in DASHBOARD["panels"]:
        place = panel["gridPos"]
        for x in range(place["x"], place["x"] + place["w"]):
            for y in range(place["y"], place["y"] + place["h"]):
                assert cells.setdefault((x, y), panel["title"]) == panel["title"]
        assert x < 24
        assert panel["type"] == "row" or panel["datasource"]["uid"] == "${datasource}"
