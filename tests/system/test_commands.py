from collections.abc import Iterator
from pathlib import Path

import pytest

from app.settings import NOTE
from tests.system.conftest import Peaceful
from tests.system.installations import Installation, good, installation
from tests.system.kits import results, small_kit
from tests.system.servers import OwnServers, eventually

pytestmark = pytest.mark.system

TABLES = "SELECT count(*) FROM information_schema.tables WHERE table_schema = 'public'"


@pytest.fixture(scope="module")
def quiet(own_servers: OwnServers) -> Iterator[Installation]:
    """A database and folders, without web server and worker."""
    with installation(own_servers) as running:
        yield running


def refused(running: Installation, *words: str) -> str:
    """What a command says that ends with 1; never the inside of the program."""
    told = running.command(*words)
    assert told.returncode == 1
    assert "Traceback" not in told.stderr
    return told.stderr


def test_an_import_prints_what_it_loaded_and_a_second_one_changes_nothing(
    quiet: Installation, tmp_path: Path
) -> None:
    words = ("import", str(small_kit(tmp_path)), "--edition", "oak", "--phase", "test")

    first, second = quiet.command(*words), quiet.command(*words)

    rows = [line.replace("│", " ").split() for line in first.stdout.splitlines()]
    assert ["cat", "10", "10", "0"] in rows
    assert ["total", "10", "20", "0"] in rows
    assert "loaded ground truth version 1 of oak test" in first.stdout
    assert "was there already, nothing changed: ground truth version 1 of oak test" in second.stdout
    assert quiet.ask(
        "SELECT count(*) FROM ground_truth g JOIN phase p ON g.phase_id = p.id JOIN edition e"
        " ON p.edition_id = e.id WHERE e.code = 'oak'"
    ) == [(1,)]


def test_an_import_of_a_broken_tree_names_every_wrong_file_and_loads_nothing(
    quiet: Installation, tmp_path: Path
) -> None:
    tree = small_kit(tmp_path)
    (tree / "Annotations" / "000003.xml").write_text("<annotation>")
    (tree / "Annotations" / "000005.xml").unlink()

    told = refused(quiet, "import", str(tree), "--edition", "broken", "--phase", "test")

    assert "Annotations/000003.xml" in told
    assert "Annotations/000005.xml" in told
    assert "2 problems; nothing was loaded" in told
    assert quiet.ask("SELECT count(*) FROM edition WHERE code = 'broken'") == [(0,)]


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (["--edition", "elm", "--phase", "nowhere"], "nothing was loaded"),
        (["--edition", "elm", "--phase", "test", "--protocol", "voc1999"], "no protocol is called 'voc1999'"),
    ],
)
def test_an_import_that_cannot_be_says_why(
    quiet: Installation, tmp_path: Path, options: list[str], sentence: str
) -> None:
    assert sentence in refused(quiet, "import", str(small_kit(tmp_path)), *options)
    assert quiet.ask("SELECT count(*) FROM edition WHERE code = 'elm'") == [(0,)]


def test_a_corrected_tree_tells_which_command_shows_it_and_that_command_does(
    peaceful: Peaceful, tmp_path: Path
) -> None:
    running, someone = peaceful.installation, peaceful.participant("oak")
    running.load(small_kit(tmp_path / "first"), "told")
    someone.final(someone.submit("told/test", results(cat=5, dog=5), "Acorn"))

    corrected = str(small_kit(tmp_path / "second", without=5))
    told = running.command("import", corrected, "--edition", "told", "--phase", "test")

    assert "loaded ground truth version 2" in told.stdout
    hint = "heldout-server rescore --edition told --phase test"
    assert hint in " ".join(told.stdout.split())
    assert someone.means("told/test") == {"Acorn": 0.5}
    assert "is queued" in running.command(*hint.split()[1:]).stdout
    assert eventually(lambda: someone.means("told/test") == {"Acorn": 0.75}, 60)


def test_a_rescoring_of_what_is_not_there_says_so(quiet: Installation) -> None:
    told = refused(quiet, "rescore", "--edition", "nowhere", "--phase", "test")

    assert "there is no phase 'test' in an edition 'nowhere'" in told


def test_the_organiser_s_link_works_once(peaceful: Peaceful) -> None:
    told = peaceful.installation.command("organiser-link")
    link = "/first-organiser/" + told.stdout.strip().rpartition("/")[2]
    first, second = peaceful.participant("first"), peaceful.participant("second")

    assert first.http.get("/api/organise").status_code == 403
    assert first.http.get(link).status_code == 200
    assert first.http.post(link).status_code == 303
    assert good(first.http.get("/api/organise")) is not None
    assert second.http.post(link).status_code == 410
    assert second.http.get("/api/organise").status_code == 403


def test_migrate_makes_the_schema_and_does_nothing_the_second_time(own_servers: OwnServers) -> None:
    with installation(own_servers) as running:
        running.ask("DROP SCHEMA public CASCADE")
        running.ask("CREATE SCHEMA public")

        assert running.command("migrate").returncode == 0
        made = running.ask(TABLES)
        assert running.command("migrate").returncode == 0

        assert made[0][0] > 10
        assert running.ask(TABLES) == made


def test_a_command_finds_the_servers_of_the_installation_that_runs_in_the_data_folder(
    quiet: Installation, tmp_path: Path
) -> None:
    settings = quiet.settings
    alone = {"HELDOUT_DATABASE_URL": None, "HELDOUT_BROKER_URL": None, "HELDOUT_PRIVATE_STORAGE": None}
    note = settings.data / NOTE
    words = ("import", str(small_kit(tmp_path)), "--edition", "noted", "--phase", "test")

    before = quiet.command(*words, **alone)
    note.write_text(settings.model_dump_json(include={"database_url", "broker_url", "private_storage"}))
    after = quiet.command(*words, **alone)
    note.unlink()

    assert before.returncode == 1
    assert "HELDOUT_DATABASE_URL and HELDOUT_BROKER_URL are not set" in before.stderr
    assert "loaded ground truth version 1 of noted test" in after.stdout
