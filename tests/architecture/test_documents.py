"""Commands in the documentation that no test runs exist, with the options, services and files they name."""

import json
import re
import shlex
import subprocess
from collections.abc import Iterator, Sequence
from itertools import groupby

import pytest
import typer

from app.challenges.disclosure import DISCLOSURE_LEVELS
from app.challenges.phase_rules import HELD_OUT_QUOTAS
from app.models import JobKind
from app.operations.commands import app as heldout_server
from app.operations.documentation_site import FILES
from app.submissions.methods import SHORTEST_DESCRIPTION
from tests.browser.illustrations import FOLDER, look, names, shown_looks
from tests.compose_file import configuration
from tests.documents import DOCUMENTS, NOT_RUN, Block, blocks
from tests.shared import ROOT

LANGUAGES = {
    ("sh", ""),
    ("sh", NOT_RUN),
    ("python", ""),
    ("yaml", ""),
    ("python", NOT_RUN),
    ("json", ""),
    ("ini", ""),
    ("text", ""),
}
SHELL = [each for each in blocks() if each.language == "sh"]
OURS = {"web", "worker", "beat", "migrate"}  # services that run heldout-server
COMMANDS = typer.main.get_group(heldout_server)
TARGETS = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))


def lines_of(block: Block) -> list[str]:
    """The commands of a block, one per line."""
    joined = block.text.replace("\\\n", " ").splitlines()
    return [line for line in joined if line and not line.startswith("#")]


def words_after(program: str, line: str) -> Iterator[list[str]]:
    """The arguments of each call of a program in a line."""
    lexer = shlex.shlex(line, posix=True, punctuation_chars=True)
    lexer.whitespace_split = True
    for is_separator, words in groupby(lexer, lambda word: set(word) <= set("();<>|&")):
        call = list(words)
        if not is_separator and program in call:
            yield call[call.index(program) + 1 :]


def check_command(words: Sequence[str]) -> None:
    """Raises TyperException if heldout-server has no such command or the command does not accept these words."""
    there = ["/" if word.startswith("/") else word for word in words]  # paths belong to the reader
    with typer.Context(COMMANDS) as above:
        name, command, rest = COMMANDS.resolve_command(above, there)
        assert command is not None
        command.make_context(name, rest, parent=above).close()


def service_and_words(words: Sequence[str]) -> list[str]:
    """The service of a `docker compose run` or `exec`, and the command run in it."""
    left = list(words)
    while left[0].startswith("-"):
        left = left[2:] if left[0] in {"-v", "-e"} else left[1:]
    return left


def test_every_code_block_names_its_language() -> None:
    assert {(block.language, block.mark) for block in blocks()} <= LANGUAGES


def test_commands_are_valid_shell() -> None:
    wrong = {}
    for block in SHELL:
        done = subprocess.run(["bash", "-n"], input=block.text, capture_output=True, text=True, check=False)
        if done.returncode or done.stderr or re.search(r"…|<\w+>", block.text):
            wrong[str(block)] = done.stderr

    assert wrong == {}


@pytest.mark.parametrize("block", [each for each in SHELL if each.mark == NOT_RUN], ids=str)
def test_commands_that_are_not_run_name_existing_commands_and_options(block: Block) -> None:
    services = configuration()["services"].keys()
    for line in lines_of(block):
        for verb, *words in words_after("compose", line):
            assert verb in {"up", "stop", "restart", "build", "run", "exec", "logs"}, line
            if verb in {"run", "exec"}:
                service, *command = service_and_words(words)
                assert service in services, line
                if verb == "run" and command and service in OURS:
                    check_command(command)
            if verb in {"stop", "restart"}:
                assert set(words) <= services, line
        for words in words_after("heldout-server", line):
            check_command(words)
        for target, *_ in words_after("make", line):
            assert target in TARGETS, line
        for path in re.findall(r"(?<![\w/])(?:\./)?((?:deploy|benchmarks)/[\w./-]+)", line):
            is_secret = path.startswith("deploy/secrets/")
            assert is_secret or (ROOT / path).exists(), line


def test_a_nonexistent_command_or_option_is_found() -> None:
    for words in (["imports", "/tree"], ["import", "/tree", "--challenge-code", "VOC2007"], ["backup"]):
        with pytest.raises(typer.TyperException):
            check_command(words)


@pytest.mark.parametrize("file", DOCUMENTS)
def test_commands_in_sentences_exist(file: str) -> None:
    text = (ROOT / file).read_text()

    assert set(re.findall(r"`make ([a-z-]+)", text)) <= TARGETS
    assert set(re.findall(r"`heldout-server ([a-z-]+)", text)) <= set(COMMANDS.commands)


def test_json_blocks_can_be_parsed_and_settings_exist() -> None:
    known = set(re.findall(r"^#?(HELDOUT_\w+)=", (ROOT / ".env.example").read_text(), re.MULTILINE))
    for block in blocks():
        if block.language == "json":
            json.loads(block.text)
        if block.language == "ini":
            assert set(re.findall(r"^(\w+)=", block.text, re.MULTILINE)) <= known, block


def test_every_page_in_docs_is_in_the_navigation() -> None:
    pages = {path.relative_to(ROOT).as_posix() for path in (ROOT / "docs").rglob("*.md")}

    assert {page for page in pages if not page.startswith("docs/decisions/")} == {*FILES.values()} - {
        "SECURITY.md"
    }


def test_the_readme_takes_two_minutes() -> None:
    assert len((ROOT / "README.md").read_text().splitlines()) <= 120


def test_the_documented_disclosure_levels_and_quotas_are_those_of_the_server() -> None:
    text = " ".join((ROOT / "docs/take-part.md").read_text().split())
    first, second = HELD_OUT_QUOTAS

    for disclosure, leak in DISCLOSURE_LEVELS.items():
        assert f"| `{disclosure}` | {leak.shown} | {leak.meant_for} |" in text
    assert f"at least {SHORTEST_DESCRIPTION} characters" in text
    assert (
        f"{first.results} results in {first.days} days and {second.results} results in {second.days} days"
        in text
    )


def test_every_kind_of_job_is_listed_with_the_modules_that_add_it() -> None:
    text = (ROOT / "docs/decisions/queue-and-jobs.md").read_text()
    rows = dict(re.findall(r"^\| `([a-z ]+)` \| (.*?) \|", text, re.MULTILINE))

    assert sorted(rows) == sorted(JobKind)
    for kind, added in rows.items():
        for module in re.findall(r"`([a-z_]+/[a-z_]+\.py)`", added):
            source = (ROOT / "app" / module).read_text()
            assert re.search(rf"JobKind\.{JobKind(kind).name}\b|add_runs", source), (
                kind,
                module,
            )


def test_the_pictures_of_the_documents_show_the_header_and_the_colours_of_today() -> None:
    assert {file.name for file in FOLDER.glob("*.png")} == set(names())
    assert shown_looks() == dict.fromkeys(names(), look()), (
        "take them again: make run, then make illustrations"
    )
