"""Every template renders, respects the content security policy, is accessible and loads little."""

import gzip
import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from datetime import timedelta
from functools import cache
from hashlib import sha256
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from jinja2 import Environment

from app.core.access import Actor
from app.core.settings import Settings
from app.core.site import FooterLink, SiteView
from app.images.differing import DifferingImages, DrawnSource
from app.images.viewer import Mark, OutcomeRow
from app.models import RunState, UploadState
from app.models.challenges import Quota
from app.submissions.quotas import CountedResult, Usage, quota_lines
from app.submissions.submit_page import Confirmation
from app.submissions.uploads import UploadView
from app.web.dependencies import render_template, templates
from heldout_scoring.scores import EXHIBITS
from tests.login_settings import EXAMPLE_ID
from tests.pages.comparison_views import comparison, images
from tests.pages.drawn import EVIL
from tests.pages.result_views import context, detail
from tests.pages.samples import samples
from tests.pages.views import (
    NOW,
    ORGANISER,
    PARTICIPANT,
    board,
    confirmation,
    drawn_board,
    fault,
    run,
    submission,
    submitting,
    upload,
)

ROOT = Path(__file__).parents[2]
SITE = SiteView(
    EVIL, 2, "#2456d6", "a@example.org", (FooterLink(EVIL, "https://example.org"),), True, True, "abc"
)
SETTINGS = Settings(login_providers=(EXAMPLE_ID,))
TEMPLATES = ROOT / "templates"
HEAVIEST = 150_000  # bytes of a page's scripts and styles, compressed
OWN_STYLES, OWN_SCRIPTS = 15_000, 30_000  # of those that are not vendored


@cache
def environment() -> Environment:
    return templates()


def render(page: str, context: Mapping[str, Any], actor: Actor = PARTICIPANT) -> str:
    shared = {
        "actor": actor,
        "now": NOW,
        "path": "/?a=b",
        "address": "https://voc.example/",
        "draft": None,
        "is_shared": False,
        "preparing": "",
        "site": SITE,
        "theme": "",
        "service": None,
        "settings": SETTINGS,
    }
    return environment().get_template(page).render({**shared, **context})


class Reader(HTMLParser):
    """Collects elements with their attributes, in order."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert len(attrs) == len(dict(attrs)), f"an attribute twice: {tag} {attrs}"
        self.elements.append((tag, dict(attrs)))


@cache
def pages() -> tuple[tuple[str, str, Reader], ...]:
    drawn = [
        (page, render(page, context, actor)) for page, context in samples() for actor in (Actor(), ORGANISER)
    ]
    return tuple((page, text, Reader(text)) for page, text in drawn)


def every_element() -> Iterator[tuple[str, str, dict[str, str | None]]]:
    return ((page, tag, attributes) for page, _, reader in pages() for tag, attributes in reader.elements)


def test_every_page_has_samples() -> None:
    whole = {page for page, _ in samples()}
    exhibits = {f"exhibits/{kind}.html" for kind in EXHIBITS}  # included by their kind
    every = {path.relative_to(TEMPLATES).as_posix() for path in TEMPLATES.rglob("*.html")}
    fragments = every - whole - exhibits - {"notifications/mail.html"}

    for name in fragments:  # a template that is not a page is part of another
        assert any(f'"{name}"' in path.read_text() for path in TEMPLATES.rglob("*.html")), name


def test_user_input_is_escaped() -> None:
    assert [page for page, text, _ in pages() if "alert('x')" in text or "<script>" in text] == []


def test_no_page_has_inline_styles_or_scripts() -> None:
    for page, tag, attributes in every_element():
        assert tag != "style", page
        assert tag != "script" or attributes.get("src"), page
        assert not [name for name in attributes if name == "style" or name.startswith(("on", "hx-on"))], page


ATTRIBUTE = re.compile(r"""\s+[a-zA-Z][a-zA-Z0-9:-]*(="[^"]*"|='[^']*')?(?=[\s/>]|$)""")


def malformed(page: str) -> list[str]:
    """The tags of a page whose attributes are not as HTML wants them, read strictly, unlike browsers and parsers do."""
    tags = re.findall(r"""<([a-zA-Z][a-zA-Z0-9-]*)((?:[^<>"']|"[^"]*"|'[^']*')*)>""", page)
    return [f"<{tag}{attributes}>" for tag, attributes in tags if ATTRIBUTE.sub("", attributes).strip(" \n/")]


def test_every_attribute_is_well_formed() -> None:
    assert malformed('<input class="a" required hidden><br /><a href="/?a=b&amp;c=d">') == []
    for wrong in ('<p requiredaria-describedby="x"y>', '<p id="a"class="b">', "<p id=a>", '<p id="a", b>'):
        assert malformed(wrong), wrong
    assert [(page, found) for page, text, _ in pages() if (found := malformed(text))] == []


def test_conditions_never_join_two_attributes() -> None:
    """Whatever a page is rendered with: the line break after a condition is trimmed, so two conditions in a row need a blank."""
    joined = re.compile(r"""[\w"']{%-? endif -?%}(\n\s*)?{%-? if [^%]+%}[a-zA-Z][a-zA-Z-]*(=|{%)""")

    assert [
        (path.name, found[0])
        for path in TEMPLATES.rglob("*.html")
        for found in joined.finditer(path.read_text())
    ] == []


def test_no_page_requests_anything_from_other_hosts() -> None:
    for page, tag, attributes in every_element():
        for name in {
            "src",
            "href",
            "action",
            "data",
            "poster",
            "srcset",
            "xlink:href",
            "hx-get",
        } & attributes.keys():
            if tag == "a" and attributes.get("rel") == "nofollow noopener noreferrer":
                continue  # a link to a paper or code, followed only on a click
            assert re.match(r"(/(?!/)|#|\?)", attributes[name] or ""), (page, tag, attributes)


def test_our_styles_and_scripts_request_nothing_from_other_hosts() -> None:
    ours = [
        path
        for path in (ROOT / "static").rglob("*")
        if path.suffix in (".css", ".js") and "vendor" not in path.parts
    ]

    assert [path for path in ours if re.search(r"https?://|url\(|@import", path.read_text())] == []


def test_no_style_changes_the_letters_of_what_is_written() -> None:
    """A rule for first letters or capitals also meets hashes, names and addresses, which would then be wrong."""
    styles = [*(ROOT / "static").rglob("*.css"), *(ROOT / "docs").rglob("*.css")]
    changing = re.compile(r"first-letter|text-transform|small-caps|font-variant(-caps)?:")

    assert [path.name for path in styles if changing.search(path.read_text())] == []


def test_every_static_file_that_a_page_uses_exists() -> None:
    asked = {
        value
        for _, _, each in every_element()
        for value in each.values()
        if value and value.startswith("/static/")
    }

    assert [address for address in asked if not (ROOT / address[1:]).is_file()] == []


def test_vendored_files_match_their_list() -> None:
    vendor = ROOT / "static" / "vendor"
    listed = dict(
        re.findall(r"^\| `([^`]+)` .*`([0-9a-f]{64})`", (vendor / "README.md").read_text(), re.MULTILINE)
    )

    assert {
        p.name: sha256(p.read_bytes()).hexdigest() for p in vendor.iterdir() if p.suffix in (".js", ".css")
    } == listed


def test_every_table_has_a_caption_and_every_head_a_scope() -> None:
    for page, tag, attributes in every_element():
        assert tag != "th" or attributes.get("scope") in ("row", "rowgroup", "col", "colgroup"), page
    for page, _, reader in pages():
        tags = [tag for tag, _ in reader.elements]
        assert all(tags[place + 1] == "caption" for place, tag in enumerate(tags) if tag == "table"), page


def test_every_form_but_a_search_uses_post() -> None:
    for page, tag, attributes in every_element():
        is_search = attributes.get("method") == "get" and attributes.get("role") == "search"
        assert tag != "form" or attributes.get("method") == "post" or is_search, page


@pytest.mark.parametrize("attribute", ["for", "aria-describedby", "aria-labelledby", "list"])
def test_every_reference_to_another_element_resolves(attribute: str) -> None:
    for page, text, reader in pages():
        known = {attributes.get("id") for _, attributes in reader.elements}
        named = {name for _, each in reader.elements for name in (each.get(attribute) or "").split()}
        assert named <= known, page
        assert all(f'href="#{name}"' not in text or name in known for name in named), page


def test_ids_are_unique_on_a_page() -> None:
    for page, _, reader in pages():
        known = [attributes["id"] for _, attributes in reader.elements if "id" in attributes]
        assert len(known) == len(set(known)), page


PARTS = {  # of pages, rendered alone
    "submissions/renewed.html", "sessions/lost.html", "home/own_steps.html", "home/own_aside.html", "home/own_quotas.html", "view.html", "texts/received.html",
}  # fmt: skip


def test_pages_have_a_language_a_title_and_one_main_heading() -> None:
    for page, text, reader in pages():
        if page in PARTS:
            continue
        tags = [tag for tag, _ in reader.elements]
        assert 'lang="en"' in text
        head = text[: text.index("</head>")]  # drawings have titles of their own
        assert [head.count("<title>"), tags.count("h1"), tags.count("main")] == [1, 1, 1], page


ALTERNATE = re.compile('<link rel="alternate" type="application/json" href="([^"]+)">')
LINE = re.compile('<a href="([^"]+)">This page as JSON</a>')


def test_a_page_that_links_to_its_json_also_names_it_in_its_head() -> None:
    found = {
        template: (LINE.findall(text), ALTERNATE.findall(text.partition("</head>")[0]))
        for template, text, _ in pages()
        if LINE.search(text)
    }

    assert {"submissions/submission.html", "teams/team.html", "comparisons/comparison.html"} <= set(found)
    assert [template for template, (lines, names) in found.items() if names[:1] != lines[:1]] == []


def test_scripts_and_styles_of_every_page_stay_small() -> None:
    loaded = {
        frozenset(re.findall(r'(?:src|href)="(/static/[^"]+\.(?:js|css))"', text)) for _, text, _ in pages()
    }
    sizes = {
        path: len(gzip.compress((ROOT / path.lstrip("/")).read_bytes()))
        for path in frozenset().union(*loaded)
    }

    heaviest = max(sum(sizes[path] for path in paths) for paths in loaded)
    own = [[path for path in paths if "/vendor/" not in path] for paths in loaded]
    of_kind = {
        kind: max(sum(sizes[path] for path in paths if path.endswith(kind)) for paths in own)
        for kind in (".css", ".js")
    }

    assert len(sizes) > 4
    assert 10_000 < heaviest < HEAVIEST
    assert of_kind[".css"] < OWN_STYLES
    assert of_kind[".js"] < OWN_SCRIPTS


def test_pages_load_at_most_thirty_kilobytes_of_style_before_compression() -> None:
    heaviest: dict[str, int] = {}
    for template, text, _ in pages():
        sheets = set(re.findall(r'href="/static/([^"]+[.]css)"', text))
        size = sum((ROOT / "static" / each).stat().st_size for each in sheets)
        heaviest[template] = max(heaviest.get(template, 0), size)

    assert len(heaviest) > 90
    assert {name: size for name, size in heaviest.items() if size > 30 * 1024} == {}


def test_a_page_loads_a_style_sheet_with_each_class_that_has_a_style() -> None:
    comments_and_exceptions = re.compile(r"/\*.*?\*/|:not\([^()]*(?:\([^()]*\)[^()]*)*\)", re.DOTALL)
    styled = {
        path.name: set(re.findall(r"\.([a-z][a-z0-9-]*)", comments_and_exceptions.sub("", path.read_text())))
        for path in (ROOT / "static").glob("*.css")
    }
    somewhere = frozenset().union(*styled.values())
    plain: set[str] = set()
    for _, text, _ in pages():
        sheets = re.findall(r'href="/static/([^"]+[.]css)"', text)
        used = set(" ".join(re.findall(r'class="([^"]*)"', text)).split())
        if sheets:
            plain |= (used & somewhere) - set().union(*(styled[sheet] for sheet in sheets))

    assert plain <= {
        "answer", "date", "fields", "figure", "hint", "intro", "key", "line-icon", "of-team", "plain-words", "sample",
    }  # fmt: skip # they have a style on other pages, for something else


def test_the_head_of_a_challenge_is_the_same_on_all_pages_of_its_organisers() -> None:
    heads: dict[str, set[str]] = {}
    for template, text, _ in pages():
        for head in re.findall(r'<div class="band">(.*?)<nav aria-label="Organise ', text, re.DOTALL):
            words = re.sub(
                r"<(h1|p class=.title.)>.*?</(h1|p)>|/organise/challenges/[^ ]+?(?=/(?:news|view-as))|<span class=.badge.>Draft</span>|\s+",
                "",
                head,
                flags=re.DOTALL,
            )
            heads.setdefault(words, set()).add(template)

    of_viewers, of_organisers = sorted(heads, key=len)
    assert "announcement" in of_organisers
    assert "announcement" not in of_viewers
    assert len(heads[of_organisers]) > 25


def test_the_style_sheet_of_all_pages_stays_small_and_in_layers() -> None:
    style = (ROOT / "static" / "style.css").read_text()

    assert len(style.encode()) <= 20 * 1024
    assert "@layer reset, tokens, base, components, pages;" in style
    assert "prefers-color-scheme" not in style  # a chosen theme is stronger, and light-dark() knows it


def test_every_kind_of_exhibit_has_a_template() -> None:
    assert EXHIBITS
    assert [kind for kind in EXHIBITS if not (TEMPLATES / "exhibits" / f"{kind}.html").is_file()] == []


def status_of(state: RunState, *, final: bool) -> str:
    view = submission(run(state), final=final)
    return render("submissions/status.html", context(view))


def test_a_page_stops_polling_when_nothing_will_change() -> None:
    assert 'hx-trigger="every 2s"' in status_of(RunState.QUEUED, final=False)
    assert "hx-" not in status_of(RunState.SCORED, final=True)


@pytest.mark.parametrize(("minutes", "asks"), [(1, True), (11, False)], ids=["soon", "late"])
def test_a_page_asks_for_the_error_analysis_for_ten_minutes(minutes: int, asks: bool) -> None:  # noqa: FBT001
    scored = replace(run(RunState.SCORED), finished_at=NOW - timedelta(minutes=minutes))
    view = submission(scored)
    missing = replace(detail(scored), analysis=replace(detail(scored).analysis, is_computed=False))

    page = render("submissions/submission.html", context(view, missing, chosen=view.results[0].id))

    assert "Being computed" in page
    assert ('hx-trigger="every 5s"' in page) is asks


def test_what_can_be_done_with_a_submission_is_renewed_with_its_state() -> None:
    def renewed(state: RunState, *, final: bool) -> str:
        view = submission(run(state), final=final)
        return render("submissions/renewed.html", context(view) | {"is_part": True})

    queued, scored = renewed(RunState.QUEUED, final=False), renewed(RunState.SCORED, final=True)

    assert "Cancel the submission" in queued
    assert "Withdraw the result" not in queued
    assert "Cancel the submission" not in scored
    assert "Withdraw the result" in scored
    assert all('<div id="acts" class="results" hx-swap-oob="true">' in each for each in (queued, scored))


def test_cards_and_table_of_a_comparison_print_the_same_differences_bold() -> None:
    view = comparison(3)
    scope = {"comparison": view, "here": "/compare"}

    cards, table = (
        render_template(f"comparisons/{name}.html", **scope) for name in ("methods", "statistics")
    )

    for page in (cards, table):
        assert re.findall(r"<b>([+−][\d.]+)</b>", page) == ["+3.1"]
        assert "−0.1" in page


def test_a_comparison_says_where_predictions_are_not_drawn_yet() -> None:
    view = comparison(2, draws_images=True)
    waiting = images(view)
    done = replace(waiting, images=waiting.images[:1])

    before, after = (
        render_template("comparisons/images.html", comparison=view, images=each, path="/compare")
        for each in (waiting, done)
    )

    assert '<a href="/compare#images">Look again</a>' in before
    assert before.count("Being drawn") == 1
    assert "Being drawn" not in after
    assert "Look again" not in after


def test_a_compared_image_names_its_classes_and_those_that_a_method_missed() -> None:
    view = comparison(2, draws_images=True)
    shown = images(view).images[0]
    boxes = tuple(Mark("truth", 1, 2, 3, 4, name) for name in ("cat", "dog", "dog"))
    found = DrawnSource(outcomes=(OutcomeRow("cat", 0.9, "true positive"),))
    counted = replace(shown.difference, positives=2)
    image = replace(
        shown, difference=counted, truth=DrawnSource(boxes), of_methods=(found, DrawnSource(outcomes=()))
    )

    page, uncounted = (
        render_template(
            "comparisons/images.html", comparison=view, images=DifferingImages((each,)), path="/compare"
        )
        for each in (image, replace(image, difference=replace(counted, positives=3)))
    )

    assert (page.count("cat, missed"), page.count("dog, missed")) == (1, 2)
    assert page.count("</svg> dog</li>") == 1
    assert ", missed" not in uncounted


def test_equal_methods_share_a_rank_and_blanks_have_none() -> None:
    page = render("leaderboards/board.html", drawn_board(board(4)))

    assert re.findall(r'title="Link to this row">([\d–]*)', page) == ["1", "1", "2", "–"]


def test_the_header_of_the_sorted_column_reverses_the_order() -> None:
    page = render("leaderboards/board.html", drawn_board(board(2, sort="car")))

    assert 'href="?sort=car&amp;order=asc"' in page
    assert 'href="?sort=cat&amp;order=desc"' in page
    assert 'href="?sort=method&amp;order=asc"' in page


VALID = upload(UploadState.CHECKED, valid=True)
INVALID = upload(UploadState.CHECKED, valid=False)


def submit_page(view: UploadView | None, asked: Confirmation | None = None) -> str:
    return " ".join(render("submissions/submit.html", submitting(view, asked)).split())


def test_what_follows_and_the_answers_of_a_known_method_stand_on_the_page_to_submit_on() -> None:
    page = submit_page(VALID, confirmation())

    assert "1 left of 3 detection results per 7 days</span>" in page
    assert "<li>No predictions for dog: these classes stay blank.</li>" in page
    assert re.search(
        r"<li>The next one is free <time [^>]*data-local>Sat 21 Nov 2026 03:14 UTC</time>\.</li>", page
    )
    assert re.search(
        r'<button type="submit" id="confirm" form="confirmation" class="whole" >Submit</button>', page
    )
    assert "3 results wait; a new one is scored in about 2 minutes." in page
    assert "<dd>12 ms</dd>" in page
    assert re.search(r'name="answer-7"[^>]*value="&lt;', page)


def test_warnings_stand_in_the_report_and_on_the_button() -> None:
    warning = fault("box-form", "found.json", None) | {"message": "are they corners?"}
    warned = replace(VALID, report=(VALID.report or {}) | {"warnings": [warning]})

    page = submit_page(warned, confirmation())

    assert "valid, with 1 warning" in page
    assert "are they corners?" in page
    assert "Worth a look. Warnings do not stop you from submitting." in page
    assert ">Submit with warnings</button>" in page
    assert "warning" not in submit_page(VALID, confirmation())  # an earlier report has none


def test_a_refused_archive_with_a_warning_is_not_said_to_be_submittable() -> None:
    warned = replace(INVALID, report=(INVALID.report or {}) | {"warnings": [fault("far-boxes", "a.txt", 3)]})

    page = submit_page(warned)

    assert "1 warning" in page
    assert "Warnings do not stop you" not in page


def test_a_refused_archive_costs_no_quota_and_cannot_be_scored() -> None:
    page = submit_page(INVALID)

    assert "nothing counts against your quota." in page
    assert re.search(r"1,022 more like “[^”]+”, not listed", page)
    assert page.index("1,044 problems") < page.index("Content")
    assert "and 10 more in this file" in page
    assert 'id="confirm"' not in page


def test_a_report_of_a_thousand_problems_fits_a_small_page() -> None:
    report = INVALID.report or {}
    problem = report["problems"][0]
    for many in (
        [{**problem, "line": line} for line in range(1000)],
        [{**problem, "file": f"comp3_det_test_{name}.txt"} for name in range(1000)],
    ):
        page = submit_page(replace(INVALID, report={**report, "problems": many}))

        assert len(page) < 100_000
        assert "as JSON" in page


def test_an_image_in_which_methods_differ_links_to_its_page_if_it_has_one() -> None:
    linked, plain = (
        render_template(
            "comparisons/images.html", comparison=comparison(2, draws_images=draws), images=DifferingImages()
        )
        for draws in (True, False)
    )

    assert '<a href="/pictures/VOC2007/test/000001?competition=3">000001</a>' in linked
    assert "/pictures/" not in plain


@pytest.mark.parametrize(
    ("packed", "told"),
    [(2**31, "1 GiB unpacked"), (2**30, "1 GiB unpacked"), (2**28, "256 MiB, and 1 GiB unpacked")],
)
def test_an_archive_may_not_be_larger_packed_than_unpacked(packed: int, told: str) -> None:
    words = '{% import "macros/sending.html" as sending %}{{ sending.largest(packed, {"max_unpacked_bytes": 1073741824}) }}'

    assert environment().from_string(words).render(packed=packed) == told


def test_a_quota_of_several_tasks_is_said_to_be_for_each() -> None:
    facts = '{% import "macros/quotas.html" as quotas %}{{ quotas.facts(lines) }}'
    used = Usage((CountedResult("action", NOW, is_teams=True, is_persons=True),))
    lines = quota_lines(NOW, (Quota(1000, 7),), ("detection", "segmentation", "action"), used)

    said = environment().from_string(facts).render(lines=lines)

    assert "<dt>Detection, segmentation, each</dt>" in said
    assert "<dt>Action</dt>" in said


def test_a_spoilt_archive_is_reported_before_it_is_dropped_again_and_nothing_of_it_is_ticked() -> None:
    page = render("submissions/submit.html", submitting(upload(UploadState.CHECKED, valid=False)))

    assert page.index('id="report"') < page.index('id="again"') < page.index('id="field-archive"')
    assert 'class="chip done"' not in page[page.index("<h3>Content</h3>") : page.index('id="again"')]


def test_a_phase_with_results_does_not_ask_when_it_opens() -> None:
    [context, *_] = [context for page, context in samples() if page == "phases/phase.html"]
    asked = [
        'id="field-opens_at"' in render("phases/phase.html", {**context, "problems": {}, "sheet": sheet})
        for sheet in (replace(context["sheet"], has_results=each) for each in (False, True))
    ]

    assert asked == [True, False]
