"""Files of settings: what one says, what is wrong with one, and that nothing in one breaks the reader."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.core import plain_yaml
from app.models import Quota
from app.organising import challenge_file
from app.organising.challenge_file import (
    ChallengeSettings,
    ClassSetting,
    FileError,
    RulesSettings,
    ScoringSettings,
)
from app.organising.draft_rules import PhaseChoice
from app.submissions.questions import NewQuestion

NOW = datetime(2027, 1, 1, tzinfo=UTC)
WHOLE = ChallengeSettings(
    title="no", code="birds", tagline="12:30", template="voc", tasks=("detection",), tracks="two",
    classes=(ClassSetting(found="Möwe klein"), ClassSetting(found="crow", name="raven"), ClassSetting(found="x", is_ignored=True)),
    scoring=ScoringSettings(protocol="voc2012", own="mean", others="frozen", frozen_days=7, ladder=True),
    rules=RulesSettings(closes_at=NOW + timedelta(days=40), per_week=2, total=30, terms="own", terms_text="Be fair.\n\nAlways, please."),
    phases={"val": PhaseChoice(closes_at=None, quotas=(Quota(30, 365), Quota(90, None)), disclosure="full")},
    texts={"overview": "# Birds\n\n- a: b\n  c  \n", "rules": "\u2028 'x' \"y\" \U0001f426"},
    pictures={"pictures_from": "elsewhere", "pictures_address": "https://pictures.example/birds"},
    questions=(NewQuestion(text="Runtime", kind="number", unit="ms"),),
    shortest_description=200,
)  # fmt: skip
FILE = challenge_file.written(WHOLE)


def problems_of(text: str) -> list[str]:
    with pytest.raises(FileError) as error:
        challenge_file.settings_in(challenge_file.document_of(text.encode()))
    return [each.sentence for each in error.value.problems]


def test_settings_that_are_written_are_read_as_they_were() -> None:
    read = challenge_file.settings_in(challenge_file.document_of(FILE.encode()))

    assert read.plain == WHOLE.plain
    assert challenge_file.written(read) == FILE


def test_every_problem_is_told_at_once_with_its_line() -> None:
    text = "title: B\ncode: bi rds\ntemplate: voc\ntasks: [detection, flying]\nrules:\n  total: many\n  invited: ash@example.org\n"

    assert problems_of(text) == [
        "line 1, title: must have at least 2 characters; found 'B'",
        "line 2, code: 'bi rds' cannot be used in URLs; expected letters, digits, '_', '.' and '-', beginning with a letter or digit",
        "line 4, tasks[2]: must be 'classification', 'detection', 'segmentation', 'layout' or 'action'; found 'flying'",
        "line 6, rules.total: must be a whole number; found 'many'",
        "line 7, rules.invited: is no setting that can stand here",
    ]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("a: &x 1\nb: *x", "line 1: '&x' is not read here; write the value itself"),
        ("a: !!python/object:os.system 1", "line 1: '!!python/object:os.system' is not read here; write the value alone"),
        ("title: a\ntitle: b", "line 2: 'title' stands here again; the first is in line 1"),
        ("{<<: {title: Birds}}", "line 1: '<<' is not read here; write the settings themselves"),
        ("a: " + "[" * 5000, "line 1: expected at most 8 blocks within each other, found more"),
        ("title: Birds\n---\ntitle: Other", "line 2: expected one document, found another"),
        ("- a", "line 1: expected settings such as 'title: Birds', found a list"),
        ("", "line 1: expected settings such as 'title: Birds', found nothing"),
        ("title: a\n  b: [", "line 2: this is not YAML: mapping values are not allowed here"),
        ("a: \x07", "line 1: expected text, found the character U+0007"),
        ("x" * (challenge_file.LARGEST + 1), "line 1: expected at most 262,144 bytes, found 262,145"),
        ('{"title": "\\ud83d"}', "line 1: expected a text, found half of a character (such as \\ud83d alone)"),
        (f"title: Birds\ntasks: [{'a,' * 30_000}]", "line 2: expected at most 20,000 values, found more"),
        ('title: Birds\ncode: "\\UFFFFFFFF"', "line 2: this is not YAML: there is no character, or no version, of this number"),
        ('title: Birds\ncode: "\\U00110000"', "line 2: this is not YAML: there is no character, or no version, of this number"),
        (f"# Birds\n%YAML {'1' * 5000}.1\n---\na: 1", "line 2: this is not YAML: there is no character, or no version, of this number"),
    ],
    ids=[
        "alias", "tag", "twice", "merge", "deep", "documents", "list", "empty", "syntax", "character", "large", "half", "many", "beyond C", "beyond Unicode",
        "version",
    ],
)  # fmt: skip
def test_what_is_not_plain_is_refused(text: str, problem: str) -> None:
    assert problem in problems_of(text)


def test_a_year_is_no_date() -> None:
    text = "title: Birds\ncode: birds\ntemplate: voc\ntasks: [detection]\nrules: {opens_at: 2027}"

    [problem] = problems_of(text)

    assert problem.startswith("line 5, rules.opens_at: must be a date and a time with its zone")


def test_json_is_read_as_yaml() -> None:
    text = '{"title": "\\ud83d\\udc26 \\/ Birds", "code": "birds", "template": "voc", "tasks": ["detection"], "rules": null}'

    read = challenge_file.settings_in(challenge_file.document_of(text.encode()))

    assert (read.title, read.rules) == ("\U0001f426 / Birds", None)


@pytest.mark.parametrize("wrong", [b"\xff", b"title: \xc3"])
def test_what_is_no_text_is_refused(wrong: bytes) -> None:
    assert plain_yaml.read(wrong, 100).problems[0].message.startswith("expected UTF-8")


LINES = FILE.splitlines()
ODD = (
    "9" * 5000, "-1", "1e999", "[]", "{}", "null", "''", "true", "\U0001f426" * 300, "'\u202e\x00'", "\u0000", "2027", "!!int 1", "&a b", "*a",
    "[[[[[[[[[[", "'", '"\\ud800"', '"\\UFFFFFFFF"', "0x10", "9999-12-31T23:59:59Z", "{a: b}", "[1, 2]", ".inf", "? x", "%", "@", "\t",
)  # fmt: skip


@st.composite
def mutated(draw: st.DrawFn) -> str:
    """A file in which lines are dropped, doubled, moved, renamed or have another value."""
    lines = list(LINES)
    for _ in range(draw(st.integers(1, 3))):
        at = draw(st.integers(0, len(lines) - 1))
        name, colon, _ = lines[at].partition(":")
        lines[at : at + 1] = draw(
            st.sampled_from(
                (
                    [],
                    [lines[at], lines[at]],
                    [f"{name}x{colon} 1"],
                    [f"  {lines[at]}"],
                    [f"{name}{colon} {draw(st.sampled_from(ODD))}"],
                    [f"{name}{colon} {draw(st.text(max_size=8))}"],
                )
            )
        )
    return "\n".join(lines)


@pytest.mark.sampled
@settings(max_examples=150, deadline=None)
@given(mutated())
def test_a_damaged_file_is_read_as_it_says_or_refused_in_sentences(text: str) -> None:
    try:
        read = challenge_file.settings_in(challenge_file.document_of(text.encode(errors="surrogatepass")))
        challenge_file.problems_of(read, read.code, NOW)
    except FileError as refused:
        problems = refused.problems
    else:
        problems = ()
        again = challenge_file.settings_in(challenge_file.document_of(challenge_file.written(read).encode()))
        assert again.plain == read.plain
    assert all(each.message and "\n" not in each.place for each in problems)


def test_differences_name_settings_and_both_values() -> None:
    changed = WHOLE.model_copy(update={"title": "Owls", "phases": {}})

    found = challenge_file.differences(WHOLE, changed)

    assert [(each.where, each.now, each.wanted) for each in found][:1] == [("title", "no", "Owls")]
    assert ("phases.val.quotas", "30/365; 90/all", "") in [
        (each.where, each.now, each.wanted) for each in found
    ]
