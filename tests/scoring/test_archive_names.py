import unicodedata
from pathlib import Path

import pytest

from heldout_scoring.archives.members import Names
from heldout_scoring.data.description import Limits
from heldout_scoring.errors import Problems
from tests.scoring.archives import special, tar, walked, written


def names(limits: Limits | None = None) -> Names:
    return Names(limits or Limits(), Problems())


@pytest.mark.parametrize("name", ["results/Main/a.txt", "./results//Main/./a.txt", "results/Main/a.txt/."])
def test_file_names_are_normalised(name: str) -> None:
    assert names().accept(name, folder=False) == "results/Main/a.txt"


def test_the_archive_may_have_an_entry_for_its_root_folder() -> None:
    assert names().accept("./", folder=True) == ""


@pytest.mark.parametrize(
    ("name", "code"),
    [
        ("/etc/passwd", "unsafe-path"),
        ("a/../../b.txt", "unsafe-path"),
        ("..", "unsafe-path"),
        ("..\\b.txt", "unsafe-path"),
        ("C:b.txt", "unsafe-path"),
        ("~/b.txt", "unsafe-path"),
        ("", "unsafe-path"),
        (".", "unsafe-path"),
        ("a\nb.txt", "name-character"),
        ("a\0.txt", "name-character"),
        ("\u202etxt.exe", "name-character"),
        ("\u200bname.txt", "name-character"),
        ("\uff0e\uff0e/x.txt", "name-character"),
        ("results/a.txt ", "name-character"),
        ("\udcff.txt", "name-encoding"),
        ("a" * 401, "name-too-long"),
        ("d/" * 13 + "a.txt", "path-too-deep"),
    ],
)
def test_a_dangerous_name_is_refused(name: str, code: str) -> None:
    met = names()

    assert met.accept(name, folder=False) is None
    [problem] = met.problems.listed
    assert problem.code == code
    assert problem.file is None or problem.file.isprintable()


def test_the_same_file_twice_is_refused() -> None:
    met = names()

    met.accept("results/a.txt", folder=False)

    assert met.accept("./results/a.txt", folder=False) is None
    assert "twice" in met.problems.listed[0].message


def test_names_that_a_file_system_may_not_distinguish_are_refused() -> None:
    met = names()

    met.accept("r\u00e9sults/a.txt", folder=False)

    assert met.accept(unicodedata.normalize("NFD", "r\u00e9sults/A.txt"), folder=False) is None
    assert "case" in met.problems.listed[0].message


def test_a_folder_may_be_listed_twice() -> None:
    met = names()

    assert met.accept("results/", folder=True) == "results"
    assert met.accept("results/a.txt", folder=False) == "results/a.txt"
    assert met.accept("results", folder=True) == "results"


@pytest.mark.parametrize(
    "order", [("results", "results/a.txt"), ("results/a.txt", "results"), ("results", "Results/a.txt")]
)
def test_a_name_used_for_both_a_file_and_a_folder_is_refused(order: tuple[str, str]) -> None:
    met = names()

    met.accept(order[0], folder=False)

    assert met.accept(order[1], folder=False) is None
    assert met.problems.listed[0].code == "file-and-folder"


def test_a_file_with_the_name_of_an_earlier_folder_is_refused() -> None:
    met = names()

    met.accept("results", folder=False)

    assert met.accept("results", folder=True) is None


def test_a_file_with_an_unsafe_name_is_left_out_and_the_others_are_read(tmp_path: Path) -> None:
    archive = written(tmp_path, tar({"../a.txt": b"a", "b.txt": b"b", "d": special("d", b"5")}))

    result = walked(archive)

    assert result.files == {"b.txt": b"b"}
    assert result.codes == ["unsafe-path"]
