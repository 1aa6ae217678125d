from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx2
import pytest

from tests.confirming import confirm_rescores
from tests.system.conftest import SharedSite
from tests.system.installations import LONGEST, Client, Installation, good, installation
from tests.system.kits import CAT, DATASET, IMAGES, line, packed, results, small_kit
from tests.system.servers import OwnServers, eventually

pytestmark = pytest.mark.system

TABLES = "SELECT count(*) FROM information_schema.tables WHERE table_schema = 'public'"


@pytest.fixture(scope="module")
def quiet(own_servers: OwnServers) -> Iterator[Installation]:
    """A database and folders without a web server or worker."""
    with installation(own_servers) as running:
        yield running


def refused(running: Installation, *words: str) -> str:
    """The output of a command that exits with 1, which never contains a traceback."""
    done = running.command(*words)
    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    return done.stderr


@pytest.mark.slow
def test_an_import_prints_what_it_loaded_and_a_second_one_changes_nothing(
    quiet: Installation, tmp_path: Path
) -> None:
    words = ("import", str(small_kit(tmp_path)), "--challenge", "oak", "--phase", "test")

    first, second = quiet.command(*words), quiet.command(*words)

    rows = [line.replace("│", " ").split() for line in first.stdout.splitlines()]
    assert ["cat", "10", "10", "0"] in rows
    assert ["total", "10", "20", "0"] in rows
    assert "loaded ground truth version 1 of oak test" in first.stdout
    assert "already imported, nothing changed: ground truth version 1 of oak test" in second.stdout
    assert quiet.ask(
        "SELECT count(*) FROM ground_truth g JOIN phase p ON g.phase_id = p.id JOIN challenge e"
        " ON p.challenge_id = e.id WHERE e.code = 'oak'"
    ) == [(1,)]


@pytest.mark.slow
def test_an_import_of_a_broken_tree_names_every_wrong_file_and_loads_nothing(
    quiet: Installation, tmp_path: Path
) -> None:
    tree = small_kit(tmp_path)
    (tree / "Annotations" / "000003.xml").write_text("<annotation>")
    (tree / "Annotations" / "000005.xml").unlink()

    output = refused(quiet, "import", str(tree), "--challenge", "broken", "--phase", "test")

    assert "Annotations/000003.xml" in output
    assert "there is no annotation file of the image '000005'" in output
    assert "2 problems; nothing was loaded" in output
    assert quiet.ask("SELECT count(*) FROM challenge WHERE code = 'broken'") == [(0,)]


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (["--challenge", "elm", "--phase", "nowhere"], "nothing was loaded"),
        (
            ["--challenge", "elm", "--phase", "test", "--protocol", "voc1999"],
            "no protocol is called 'voc1999'; there are voc2006",
        ),
        (
            ["--challenge", "elm", "--phase", "test", "--limit", "files=3"],
            "no limit is called 'files'; there are max_unpacked_bytes",
        ),
        (
            ["--challenge", "elm", "--phase", "test", "--limit", "max_unpacked_bytes=2GiB"],
            "--limit takes NAME=NUMBER",
        ),
        (
            ["--challenge", "elm", "--phase", "test", "--limit", "max_files=0"],
            "'max_files' must be a whole number from 1",
        ),
    ],
)
@pytest.mark.slow
def test_an_impossible_import_says_why(
    quiet: Installation, tmp_path: Path, options: list[str], sentence: str
) -> None:
    assert sentence in refused(quiet, "import", str(small_kit(tmp_path)), *options)
    assert quiet.ask("SELECT count(*) FROM challenge WHERE code = 'elm'") == [(0,)]


@pytest.mark.parametrize(
    ("private", "sentence"),
    [
        (None, "HELDOUT_PRIVATE_STORAGE or HELDOUT_S3_PRIVATE_BUCKET: expected the place of ground truth"),
        ("/dev/null", "the storage cannot be used: [Errno 20] Not a directory: '/dev/null/incoming'"),
    ],
)
@pytest.mark.slow
def test_an_import_without_private_storage_says_so(
    quiet: Installation, tmp_path: Path, private: str | None, sentence: str
) -> None:
    words = ("import", str(small_kit(tmp_path)), "--challenge", "elm", "--phase", "test")

    response = quiet.command(*words, HELDOUT_PRIVATE_STORAGE=private)

    assert (response.returncode, response.stderr.strip()) == (1, sentence)


@pytest.mark.slow
def test_importing_a_corrected_tree_names_the_rescore_command_which_works(
    site: SharedSite, tmp_path: Path
) -> None:
    running, someone = site.installation, site.participant("oak")
    running.load(small_kit(tmp_path / "first"), "corrected")
    someone.final(someone.submit("corrected/test", results(cat=5, dog=5), "Acorn"))

    corrected = str(small_kit(tmp_path / "second", without=5))
    done = running.command("import", corrected, "--challenge", "corrected", "--phase", "test")

    assert "loaded ground truth version 2" in done.stdout
    hint = "heldout-server rescore --challenge corrected --phase test"
    assert hint in " ".join(done.stdout.split())
    assert someone.means("corrected/test") == {"Acorn": 0.5}
    queued = running.command(*hint.split()[1:]).stdout
    assert "when an organiser has looked at its preview" in " ".join(queued.split())
    confirm_rescores(running.platform)
    assert eventually(lambda: someone.means("corrected/test") == {"Acorn": 0.75})


@pytest.fixture(scope="module")
def swollen() -> bytes:
    """A perfect result for cats beside 65 MiB of zeros, which the default limits refuse as an attack."""
    cats = "".join(line(image, 0.9, CAT) for image in IMAGES).encode()
    folder = f"results/{DATASET}/Main"
    return packed({f"{folder}/comp3_det_test_cat.txt": cats, f"{folder}/.DS_Store": bytes(65 << 20)})


def load(site: SharedSite, tree: Path, challenge: str, *limits: str) -> None:
    options = [word for limit in limits for word in ("--limit", limit)]
    done = site.installation.command(
        "import", str(tree), "--challenge", challenge, "--phase", "test", *options
    )
    assert done.returncode == 0, done.stderr


def codes(client: Client, phase: str, archive: bytes) -> list[str]:
    return [problem["code"] for problem in good(client.send(phase, archive))["report"]["problems"]]


@pytest.mark.slow
def test_an_upload_beyond_an_imported_limit_is_refused_with_that_limits_code(
    site: SharedSite, tmp_path: Path
) -> None:
    someone = site.participant("oak")
    load(site, small_kit(tmp_path), "narrow", "max_files=1")

    assert codes(someone, "narrow/test", results(cat=5, dog=5)) == ["too-many-members"]
    assert codes(someone, "narrow/test", results(cat=5)) == []
    assert (
        good(site.anybody.http.get("/api/v1/challenges/narrow/test/description"))["limits"]["max_files"] == 1
    )


@pytest.mark.slow
def test_uploads_within_a_raised_limit_are_scored_and_rescored(
    site: SharedSite, tmp_path: Path, swollen: bytes
) -> None:
    running, someone = site.installation, site.participant("oak")
    load(site, small_kit(tmp_path / "usual"), "usual")
    load(site, small_kit(tmp_path / "first"), "wide", f"ratio_from_bytes={128 << 20}", "max_files=30000")

    assert codes(someone, "usual/test", swollen) == ["ratio"]
    someone.final(someone.submit("wide/test", swollen, "Acorn"))
    assert someone.board("wide/test")["rows"][0]["cells"][0]["value"] == 1

    load(site, small_kit(tmp_path / "second", without=5), "wide")
    assert codes(someone, "wide/test", swollen) == []
    output = refused(
        running,
        "import",
        str(tmp_path / "first" / DATASET),
        "--challenge",
        "wide",
        "--phase",
        "test",
        "--limit",
        "max_files=10",
    )
    assert "the limit 'max_files' of phase test is 30000 and can only be raised" in output
    assert running.command("rescore", "--challenge", "wide", "--phase", "test").returncode == 0
    confirm_rescores(running.platform)
    assert eventually(lambda: someone.board("wide/test")["ground_truth"] == 2)


@pytest.mark.slow
def test_rescoring_something_unknown_says_so(quiet: Installation) -> None:
    output = refused(quiet, "rescore", "--challenge", "nowhere", "--phase", "test")

    assert "there is no phase 'test' in a challenge 'nowhere'" in output


@pytest.mark.slow
def test_an_organiser_link_requires_an_existing_challenge(site: SharedSite) -> None:
    unknown = site.installation.command("organiser-link", "nowhere")

    assert unknown.returncode == 1
    assert unknown.stderr == "there is no challenge 'nowhere'\n"


@pytest.mark.slow
def test_the_admin_link_works_once_and_leads_to_the_second_factor(site: SharedSite) -> None:
    done = site.installation.command("admin-link")
    link = "/role-links/" + done.stdout.strip().rpartition("/")[2]
    with newcomer(site, "first@example.org") as first, newcomer(site, "second@example.org") as second:
        assert first.get("/organise").status_code == 403
        assert first.get(link).status_code == 200
        assert first.post(link).status_code == 303
        assert first.get("/organise").headers["location"] == "/account/second-factor?next=/organise"
        assert second.post(link).status_code == 410
        assert second.get("/organise").status_code == 403


@contextmanager
def newcomer(site: SharedSite, email: str) -> Iterator[httpx2.Client]:
    """The browser of a newly registered person."""
    html, form = {"Accept": "text/html"}, {"email": email, "name": "New", "password": "a long password"}
    with httpx2.Client(base_url=site.addresses[0], timeout=LONGEST, headers=html) as browser:
        assert browser.post("/register", data=form).status_code == 303
        yield browser


@pytest.mark.slow
def test_migrate_creates_the_schema_and_does_nothing_the_second_time(own_servers: OwnServers) -> None:
    with installation(own_servers) as running:
        running.ask("DROP SCHEMA public CASCADE")
        running.ask("CREATE SCHEMA public")

        assert running.command("migrate").returncode == 0
        made = running.ask(TABLES)
        assert running.command("migrate").returncode == 0

        assert made[0][0] > 10
        assert running.ask(TABLES) == made
