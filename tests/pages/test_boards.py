"""What a board shows in every format and for every query, and what it never shows."""

import csv
import io
import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from html import unescape
from typing import Any

import pytest
from starlette.testclient import TestClient

from app.boards.rows import FEW_CLASSES, shows_classes
from app.boards.selections import BoardQuery
from app.models import Disclosure, Phase
from app.platform import Platform
from app.web.tables import tex_text
from tests.pages.boards import DIGITS, ScoredMethod, add_scored, board_of, group, publish_at, withdraw
from tests.pages.conftest import Browser
from tests.pages.statements import asked
from tests.system.rows import Rows

OPEN, HELD_OUT = "/leaderboards/open/test/4", "/leaderboards/held/test/4"


@pytest.fixture(scope="module")
def rows(platform: Platform, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Rows]:
    return {
        challenge: board_of(platform, tmp_path_factory.mktemp(challenge), challenge, disclosure)
        for challenge, disclosure in (("open", Disclosure.FULL), ("held", Disclosure.CLASSES))
    }


@pytest.fixture
def reader(browser: Browser, rows: dict[str, Rows]) -> TestClient:
    return browser()


def board(reader: TestClient, query: str = "", address: str = OPEN) -> Any:
    response = reader.get(f"/api/v1{address}{query}")
    assert response.status_code == 200, response.text
    return response.json()


def methods(reader: TestClient, query: str = "") -> list[str]:
    return [row["method"] for row in board(reader, query)["rows"]]


def test_filters_hide_rows_but_do_not_change_ranks(reader: TestClient) -> None:
    every = {row["method"]: row["rank"] for row in board(reader)["rows"]}

    assert every == {"=cmd": 1, "Beech_50%": 1, "Chance": 3, "Half": None}
    for query, left in (
        ("?baselines=hide", ["=cmd", "Beech_50%", "Half"]),
        ("?training=other", ["=cmd"]),
        ("?team=999", []),
        ("?since=2100-01-01", []),
        ("?until=2000-01-01", []),
        ("?training=&team=&since=&baselines=hide&training=given", ["Beech_50%", "Half"]),
    ):
        shown = board(reader, query)
        assert [row["method"] for row in shown["rows"]] == left, query
        assert {row["method"]: row["rank"] for row in shown["rows"]}.items() <= every.items()
        assert shown["methods"] == 4


def test_the_best_of_a_class_is_marked_among_the_listed_rows(reader: TestClient) -> None:
    rows = board(reader, "?training=given&baselines=hide")["rows"]

    assert {row["method"]: [cell["best"] for cell in row["cells"]] for row in rows} == {
        "Beech_50%": [False, True],
        "Half": [True, False],
    }


@pytest.mark.parametrize(
    ("query", "order"),
    [
        ("?sort=median", ["=cmd", "Beech_50%", "Chance", "Half"]),
        ("?sort=won", ["Chance", "Half", "=cmd", "Beech_50%"]),
        ("?sort=mean-rank", ["=cmd", "Beech_50%", "Chance", "Half"]),
        ("?sort=cat", ["Half", "=cmd", "Beech_50%", "Chance"]),
        ("?sort=dog&order=asc", ["=cmd", "Beech_50%", "Chance", "Half"]),
        ("?sort=method", ["=cmd", "Beech_50%", "Chance", "Half"]),
    ],
)
def test_rows_are_sorted_as_requested(reader: TestClient, query: str, order: list[str]) -> None:
    assert methods(reader, query) == order


def test_a_board_names_its_measure_as_its_protocol_does(reader: TestClient) -> None:
    shown, page = board(reader), reader.get(OPEN).text

    assert (shown["headline"], shown["further"], shown["name"]) == ("mAP", [], "Detection, any data")
    assert 'mAP</a><span class="on-wide"><br>95% interval on ' in page
    assert "higher is better" in page


def test_the_best_is_bold_and_the_second_best_underlined(reader: TestClient) -> None:
    page = reader.get(f"{OPEN}?baselines=hide").text

    assert '<b>90.0</b><span class="hidden"> best</span>' in page
    assert '<u>80.0</u><span class="hidden"> second</span>' in page
    assert {row["method"]: row["cells"][0]["second"] for row in board(reader)["rows"]} == {
        "=cmd": True,
        "Beech_50%": False,
        "Chance": False,
        "Half": False,
    }


def test_a_board_is_named_by_task_and_training_data_not_by_competition(reader: TestClient) -> None:
    page = reader.get(OPEN).text

    assert "<h1>Detection, any data</h1>" in page
    assert "competition 4" not in page.lower()
    assert set(re.findall(r'<nav class="seg" aria-label="([^"]+)"', page)) >= {"Task", "Training data"}
    choices = dict(re.findall(r'<a href="(/leaderboards/[^"]+)"[^>]*>([^<]+)</a>', page))
    assert choices["/leaderboards/open/test/3"] == "Given data"
    assert choices["/leaderboards/open/test/2"] == "Classification"


def test_each_active_filter_can_be_removed_separately(reader: TestClient) -> None:
    page = unescape(reader.get(f"{OPEN}?training=given&baselines=hide&sort=cat").text)

    chips = re.findall(r'<a class="pill" href="([^"]+)">.*?</span>([^<]+)<', page)

    assert chips == [
        ("?sort=cat&baselines=hide", "given data"),
        ("?sort=cat&training=given", "without baselines"),
    ]
    assert "Filter · 2" in page
    assert 'class="pill"' not in reader.get(OPEN).text


def test_class_columns_can_be_hidden(reader: TestClient) -> None:
    assert 'title="Sort by cat"' in reader.get(OPEN).text
    page = reader.get(f"{OPEN}?class_columns=hide").text

    assert 'title="Sort by cat"' not in page
    assert page.count('<tr id="method-') == 4
    assert "Show the columns of 2 classes" in page
    assert len(board(reader)["classes"]) == 2


def test_a_board_with_many_classes_shows_their_columns_on_request() -> None:
    many = tuple(f"class {number}" for number in range(FEW_CLASSES + 1))

    assert not shows_classes(many, BoardQuery())
    assert shows_classes(many, BoardQuery(class_columns=True))
    assert shows_classes(many, BoardQuery("class 3"))
    assert shows_classes(many, BoardQuery(classes=("class 3",)))
    assert shows_classes(many[:FEW_CLASSES], BoardQuery())


def test_the_interval_is_drawn_beside_the_mean(reader: TestClient) -> None:
    page = reader.get(OPEN).text
    drawn = re.findall(r'<path d="M([\d.]+) 10H([\d.]+)" /><circle cx="([\d.]+)"', page)

    assert len(drawn) == 3
    assert all(float(low) < float(mean) < float(high) for low, high, mean in drawn)
    assert 'data-i="55.0&nbsp;–&nbsp;65.0"' in page


def test_intervals_shown_only_after_the_close_are_announced(
    reader: TestClient, platform: Platform, tmp_path_factory: pytest.TempPathFactory
) -> None:
    rows = board_of(platform, tmp_path_factory.mktemp("final"), "final", Disclosure.CLASSES)
    address, line = "/leaderboards/final/test/4", "Intervals appear with the final results"
    never = reader.get(address).text
    with platform.transaction() as session:
        phase = session.get_one(Phase, rows.phase_id)
        phase.closes_at, phase.details_at_close = datetime.now(UTC) + timedelta(days=9), True
    platform.cache.expire_versions()

    page = reader.get(address).text

    assert line in page
    assert line not in never
    assert line not in reader.get(OPEN).text
    for text in (page, never):
        assert "interval</a>" not in text
        assert 'class="range"' not in text
        assert "share a letter" not in text


def test_values_with_difficult_objects_are_shown_as_unofficial(reader: TestClient) -> None:
    rows = board(reader, "?values=difficult")["rows"]

    assert {tuple(cell["value"] for cell in row["cells"]) for row in rows} == {(0.25, 0.75)}
    assert {(row["mean"], row["low"]) for row in rows} == {(0.5, None)}
    assert "not the official" in reader.get(f"{OPEN}?values=difficult").text


def test_a_chosen_class_is_the_only_column(reader: TestClient) -> None:
    shown = board(reader, "?class=dog")

    assert shown["classes"] == ["dog"]
    assert {len(row["cells"]) for row in shown["rows"]} == {1}
    assert [row["mean"] for row in shown["rows"]] == [row["mean"] for row in board(reader)["rows"]]


@pytest.mark.parametrize(
    "query",
    [
        "?sort=bird", "?class=bird", "?page=2", "?columns=2", "?order=up", "?team=oak", "?team=0", "?as_of=yesterday",
        "?since=1999-12-31", "?until=9999-12-31", "?format=xls", "?density=roomy", "?" + "&".join(101 * ["class=cat"]),
    ],
)  # fmt: skip
def test_an_invalid_query_of_a_board_is_refused(reader: TestClient, query: str) -> None:
    response = reader.get(f"{OPEN}{query}")

    assert response.status_code == 422
    assert "Traceback" not in response.text


def test_a_board_can_be_exported_as_csv_without_formulas(reader: TestClient) -> None:
    response = reader.get(f"{OPEN}?format=csv")
    table = list(csv.DictReader(io.StringIO(response.text)))

    assert response.headers["Content-Type"] == "text/csv; charset=utf-8"
    assert "open-test-4.csv" in response.headers["Content-Disposition"]
    assert [row["method"] for row in table] == ["'=cmd", "Beech_50%", "Chance", "Half"]
    assert [float(row["cat"]) for row in table] == [row["cells"][0]["value"] for row in board(reader)["rows"]]
    assert "cat low" not in table[0]


def test_a_csv_has_each_interval_beside_its_score(reader: TestClient) -> None:
    response = reader.get(f"{OPEN}?format=csv&intervals=show")
    table = {row["method"]: row for row in csv.DictReader(io.StringIO(response.text))}

    beech = [
        float(table["Beech_50%"][f"{name}{end}"]) for name in ("mean", "dog") for end in (" low", "", " high")
    ]
    assert beech == pytest.approx([0.55 + DIGITS, 0.6 + DIGITS, 0.65 + DIGITS] * 2)
    assert [table["Half"][name] for name in ("dog low", "dog", "dog high")] == ["", "", ""]


def test_a_board_can_be_exported_as_latex(reader: TestClient) -> None:
    table = reader.get(f"{OPEN}?format=tex&class=cat&baselines=hide").text

    assert "\\begin{tabular}{rllrr}\n\\toprule" in table
    assert "Rank & Method & Team & mAP & cat \\\\" in table
    for row in board(reader)["rows"]:
        if not row["is_baseline"]:
            rank = "--" if row["rank"] is None else row["rank"]
            name, team = (tex_text(each) for each in (row["method"], row["team"]["name"]))
            assert f"\n{rank} & {name} & {team} & " in table
    assert "& Beech\\_50\\% & " in table
    assert "\\underline{80.0}" in reader.get(f"{OPEN}?format=tex").text
    assert "Team & mAP \\\\" in reader.get(f"{OPEN}?format=tex&class_columns=hide").text
    assert "mAP & median & cat & dog \\\\" in reader.get(f"{OPEN}?format=tex&sort=median").text
    assert "\\scriptsize [85.0, 95.0]" in reader.get(f"{OPEN}?format=tex&intervals=show").text


def test_a_citation_of_a_method_says_its_team_and_rank(reader: TestClient) -> None:
    entries = reader.get(f"{OPEN}?format=bib").text

    for row in board(reader)["rows"]:
        rank = "" if row["rank"] is None else f", rank {row['rank']}"
        said = f"{row['method']} of {row['team']['name']}{rank}, open test: Detection, any data"
        assert tex_text(said) in entries
    assert f"mAP, protocol {board(reader)['protocol']}, version " in entries


def test_exports_say_units_challenge_phase_protocol_and_version(reader: TestClient) -> None:
    shown = board(reader)
    origin = {
        "unit": "fraction from 0 to 1",
        "challenge": "open",
        "phase": "test",
        "task": "Detection, any data",
        "protocol": shown["protocol"],
        "ground truth version": "1",
        "leaderboard version": str(shown["version"]),
    }
    for row in csv.DictReader(io.StringIO(reader.get(f"{OPEN}?format=csv").text)):
        assert origin.items() <= row.items()
        assert row["measure"] == "mAP: AP"
    assert shown["unit"] == origin["unit"]
    notes = [line for line in reader.get(f"{OPEN}?format=tex").text.splitlines() if line.startswith("%")]
    assert notes[1:] == [
        "% open (open), phase test, Detection, any data",
        "% mAP: AP, in percent, 4 of 4 methods",
        f"% protocol {shown['protocol']}, ground truth version 1, scorer version {shown['scorer']}",
        f"% {address_of(reader)}{OPEN}, version {shown['version']} of this leaderboard",
    ]
    assert f"protocol {shown['protocol']}" in reader.get(f"{OPEN}?format=bib").text


def address_of(reader: TestClient) -> str:
    """How the server calls itself."""
    address: str = reader.app.state.platform.settings.address  # type: ignore[attr-defined]
    return address


def test_other_websites_may_show_a_board_in_a_frame_and_no_other_page(
    reader: TestClient, rows: dict[str, Rows]
) -> None:
    embedded = reader.get(f"{OPEN}/embed?baselines=hide")

    assert embedded.status_code == 200
    assert "frame-ancestors *" in embedded.headers["content-security-policy"]
    assert "script-src" not in embedded.headers["content-security-policy"]
    assert "x-frame-options" not in embedded.headers
    assert "Beech_50%" in embedded.text
    assert "Chance" not in embedded.text
    assert "<script" not in embedded.text
    assert "<form" not in embedded.text
    assert f'href="{OPEN}" target="_blank"' in embedded.text
    for address in (OPEN, f"{OPEN}/figures", f"{OPEN}/embed/nothing", "/leaderboards/nothing/test/4/embed"):
        assert "frame-ancestors 'none'" in reader.get(address).headers["content-security-policy"]
    assert 'class="range"' not in reader.get(f"{HELD_OUT}/embed").text
    again = reader.get(
        f"{OPEN}/embed", headers={"If-None-Match": reader.get(f"{OPEN}/embed").headers["etag"]}
    )
    assert (again.status_code, "frame-ancestors *" in again.headers["content-security-policy"]) == (304, True)


def test_a_board_and_its_methods_can_be_cited(reader: TestClient) -> None:
    results = reader.get(f"{OPEN}?format=bib").text

    assert results.count("@misc{") == 5
    assert results.count("{") == results.count("}")
    assert "Beech\\_50\\%" in results


def test_every_row_can_be_chosen_for_a_comparison(reader: TestClient) -> None:
    page = reader.get(OPEN).text
    chosen = re.findall(r'form="compare" name="methods" value="(\d+)"', page)

    assert 'action="/compare/open/test/4"' in page
    assert len(chosen) == 4
    compared = reader.get(f"/compare/open/test/4?methods={chosen[0]}&methods={chosen[1]}")
    assert compared.status_code == 200
    assert "Beech_50%" in compared.text
    assert reader.get(f"{OPEN}/figures").status_code == 200


def test_a_method_can_be_cited_on_its_own(reader: TestClient) -> None:
    method = next(row["method_id"] for row in board(reader)["rows"] if row["method"] == "Beech_50%")
    response = reader.get(f"/methods/{method}?format=bib")

    assert response.headers["Content-Type"] == "application/x-bibtex"
    assert response.text.startswith("@misc{Beech-50-")
    assert f"/methods/{method}}}" in response.text
    assert reader.get(f"/methods/{method}?format=doc").status_code == 422


@pytest.mark.sampled
def test_a_challenge_can_be_cited(reader: TestClient) -> None:
    response = reader.get("/challenges/open?format=bib")

    assert response.headers["Content-Type"] == "application/x-bibtex"
    assert response.text.startswith("@misc{open,\n  title = {{open}},")
    assert re.search(r"year = \{\d{4}\}", response.text)
    assert "/challenges/open}" in response.text


def test_a_page_and_its_json_show_the_same_board(reader: TestClient) -> None:
    assert reader.get(f"{OPEN}?format=json").json() == board(reader)
    page = reader.get(f"{OPEN}?format=html").text
    assert page.count('<tr id="method-') == 4
    assert 'data-i="75.0–85.0"' in page
    assert "<small>75.0&nbsp;–&nbsp;85.0</small>" in reader.get(f"{OPEN}?intervals=show").text


def test_a_boards_head_links_to_the_same_rows_for_programs(reader: TestClient) -> None:
    head = reader.get(f"{OPEN}?sort=cat&page=1").text.partition("</head>")[0]
    links = dict(re.findall('<link rel="alternate" type="([^"]+)" href="([^"]+)">', head))
    plain = reader.get(OPEN).text.partition("</head>")[0]

    assert links["application/json"] == f"/api/v1{OPEN}?sort=cat"
    assert [row["method"] for row in reader.get(links["application/json"]).json()["rows"]] == methods(
        reader, "?sort=cat"
    )
    assert next(csv.reader(io.StringIO(reader.get(unescape(links["text/csv"])).text)))[0] == "rank"
    assert f'href="/api/v1{OPEN}"' in plain


def test_a_held_out_board_shows_three_decimals_and_no_intervals_in_any_format(reader: TestClient) -> None:
    today = f"{datetime.now(UTC):%Y-%m-%d}"
    for query in (
        "",
        "?intervals=show",
        f"?as_of={today}",
        f"?as_of={today}&sort=median",
        "?sort=mean-rank&method=1",
    ):
        shown = board(reader, query, HELD_OUT)
        assert shown["decimals"] == 3
        assert all(value == round(value, 3) for value in values_of(shown["rows"]))
        assert {cell["low"] for row in shown["rows"] for cell in row["cells"]} | {
            row["high"] for row in shown["rows"]
        } == {None}
        assert "data-i=" not in reader.get(f"{HELD_OUT}{query}").text
        for kind in ("csv", "tex", "bib", "json"):
            text = reader.get(f"{HELD_OUT}{query or '?'}&format={kind}").text
            assert " low" not in text, kind  # a column of intervals
            assert not re.search(
                r"0\.\d{4}|\d\d\.\d\d|scriptsize", re.sub("mean-rank.*|.*rank,.*", "", text)
            ), kind


def values_of(rows: list[dict[str, Any]]) -> Iterator[float]:
    for row in rows:
        yield from (
            value for value in (row["mean"], *(cell["value"] for cell in row["cells"])) if value is not None
        )


def test_values_with_difficult_objects_are_withheld_with_the_details(reader: TestClient) -> None:
    response = reader.get(f"{HELD_OUT}?values=difficult")

    assert response.status_code == 403
    assert "held out" in response.text
    assert "difficult" not in reader.get(HELD_OUT).text


def test_a_board_as_of_a_day_has_the_rows_and_ranks_of_that_day(
    reader: TestClient, platform: Platform, tmp_path_factory: pytest.TempPathFactory
) -> None:
    rows = board_of(platform, tmp_path_factory.mktemp("old"), "old", Disclosure.FULL)
    publish_at(rows, datetime(2026, 3, 1, 23, 59, tzinfo=UTC))
    add_scored(rows, ScoredMethod("Newest", 1.0, 1.0))
    address = "/leaderboards/old/test/4"

    then = board(reader, "?as_of=2026-03-01", address)

    assert next(row["method"] for row in board(reader, "", address)["rows"]) == "Newest"
    assert next((row["rank"], row["method"]) for row in then["rows"]) == (1, "=cmd")
    assert (len(then["rows"]), then["version"], then["ground_truth"]) == (4, 4, 1)
    assert board(reader, "?as_of=2026-02-28", address)["rows"] == []
    assert "It was empty then" in reader.get(f"{address}?as_of=2026-02-28").text
    assert "as it stood at the end of 2026-03-01" in reader.get(f"{address}?as_of=2026-03-01").text


def test_a_withdrawn_result_is_missing_from_earlier_boards_too(
    reader: TestClient, platform: Platform, tmp_path_factory: pytest.TempPathFactory
) -> None:
    rows = board_of(platform, tmp_path_factory.mktemp("less"), "less", Disclosure.FULL)
    result = add_scored(rows, ScoredMethod("Regretted", 1.0, 1.0))
    publish_at(rows, datetime(2026, 3, 1, tzinfo=UTC))
    withdraw(rows, result)

    then = board(reader, "?as_of=2026-03-01", "/leaderboards/less/test/4")

    assert next(row["method"] for row in then["rows"]) == "=cmd"
    assert "Regretted" not in {row["method"] for row in then["rows"]}


def test_methods_in_a_group_with_the_chosen_one_are_marked(reader: TestClient, rows: dict[str, Rows]) -> None:
    for board_rows in rows.values():
        group(board_rows, {"=cmd": "a", "Beech_50%": "ab", "Chance": "b"})
    shown = {row["method"]: row for row in board(reader)["rows"]}
    page = reader.get(f"{OPEN}?method={shown['=cmd']['method_id']}").text

    assert [shown[name]["group"] for name in ("=cmd", "Beech_50%", "Chance", "Half")] == [
        "a",
        "ab",
        "b",
        None,
    ]
    assert re.findall(r'id="method-(\d+)" class="(\w+)"', page) == [
        (str(shown["=cmd"]["method_id"]), "marked"),
        (str(shown["Beech_50%"]["method_id"]), "alike"),
    ]
    assert 'title="being computed"' not in page
    assert {row["group"] for row in board(reader, address=HELD_OUT)["rows"]} == {None}
    assert 'class="group"' not in reader.get(HELD_OUT).text
    for query in ("?values=difficult", "?as_of=2026-03-01"):
        assert {row["group"] for row in board(reader, query)["rows"]} <= {None}


def test_a_board_says_that_its_groups_are_being_computed(
    reader: TestClient, platform: Platform, tmp_path_factory: pytest.TempPathFactory
) -> None:
    board_of(platform, tmp_path_factory.mktemp("soon"), "soon", Disclosure.FULL)

    assert reader.get("/leaderboards/soon/test/4").text.count('title="being computed"') == 3


def test_the_bits_disclosed_to_teams_are_counted_at_most_once_a_minute(
    platform: Platform, rows: dict[str, Rows], reader: TestClient
) -> None:
    with platform.transaction() as session:
        session.get_one(Phase, rows["held"].phase_id).shows_exposure = True
    pages: list[str] = []
    counts: list[int] = []

    for _ in range(2):
        platform.cache.expire_versions()
        with asked(platform) as statements:
            pages.append(reader.get("/challenges/held").text)
        counts.append(sum("GROUP BY run.team_id" in each for each in statements))

    assert counts == [1, 0]
    assert all("bits of the hidden labels can have been disclosed to any team" in page for page in pages)
