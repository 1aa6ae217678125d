"""A running installation with a small sample challenge, a participant's results, and what a browser needs to visit it."""

import tempfile
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import sample
from app.intake.importing import TreeImport, import_tree
from app.models import Disclosure, Quota
from app.organising import roles
from app.web.dependencies import SESSION_COOKIE
from tests.browser.archives import spoilt, thinned
from tests.pages.data_sets import kit, zipped
from tests.people import confirm_address
from tests.second_factors import give_second_factor
from tests.system.installations import Client, Installation, good, installation
from tests.system.kits import results, small_kit
from tests.system.process_trees import stopped, tree_of
from tests.system.servers import OwnServers, eventually

DRAFT, PREVIEWED = "draft", "previewed"
READING = 120  # seconds that a worker may take to read annotation
IMAGES = 24
SETS = {"val": Disclosure.FULL, "test": Disclosure.CLASSES}
ROWS = {("test", 3): 3, ("val", 3): 1, ("val", 5): 1}  # results on a board


@dataclass(frozen=True, slots=True)
class Site:
    """Addresses, people and archives of a running site."""

    installation: Installation
    address: str
    participant: Client  # somebody who is logged in
    organiser: Client
    good: bytes  # an archive for the test set
    good_val: bytes
    spoilt: bytes  # like the good one, but with problems
    scored: dict[tuple[str, int], int]  # a submission by image set and competition
    uploads: dict[str, str]  # the participant's, "valid" and "spoilt"

    @property
    def team(self) -> int:
        """The participant's team."""
        return int(self.participant.http.get("/api/v1/teams").json()[0]["id"])

    def address_of(self, path: str) -> str:
        """A path with the numbers of this site in place of `{test3}`, `{valid}`, `{team}`, `{compared}`, `{run}`, `{draft}`, `{reported}` and `{preview}`. Raises KeyError without."""
        scored = {f"{image_set}{number}": one for (image_set, number), one in self.scored.items()}
        of_team = {"team": self.team, "compared": self.compared, "run": self.run} if self.scored else {}
        drafted = {"draft": self.draft} if "{draft}" in path else {}
        reported = {"reported": self.reported} if "{reported}" in path else {}
        previewed = {"preview": self.preview} if "{preview}" in path else {}
        return path.format(**scored, **self.uploads, **of_team, **drafted, **reported, **previewed)

    @property
    def preview(self) -> int:
        """A re-scoring whose new scores wait for the organiser, of a challenge of its own that is in no list."""
        place, phase = self.installation, f"{PREVIEWED}/test"
        known = "SELECT r.id FROM rescore r JOIN phase p ON p.id = r.phase_id JOIN challenge c ON c.id = p.challenge_id"
        if found := place.ask(f"{known} WHERE c.code = %s AND r.abandoned_at IS NULL", PREVIEWED):
            return int(found[0][0])
        with tempfile.TemporaryDirectory() as folder:
            place.load(small_kit(Path(folder, "first")), PREVIEWED)
            place.ask("UPDATE challenge SET visibility = 'by link' WHERE code = %s", PREVIEWED)
            for cats in range(1, 4):
                archive = results(cat=cats * 3, dog=5)
                self.participant.final(self.participant.submit(phase, archive, f"Finder {cats}"))
            place.load(small_kit(Path(folder, "second"), without=5), PREVIEWED)
        asked = self.organiser.http.post(f"/api/v1/organise/{phase}/rescore")
        assert asked.status_code == 202, asked.text
        number = int(asked.json()["rescore"])
        address = f"/api/v1/organise/rescores/{number}"
        assert eventually(lambda: not self.organiser.http.get(address).json()["refusal"], READING)
        return number

    @property
    def reported(self) -> str:
        """An image of the public set of which the participant has reported labels."""
        table = self.participant.http.get(f"/challenges/{sample.NAME}/val/images.csv").text
        image = table.splitlines()[2].split(",")[0]
        address = f"/api/v1/challenges/{sample.NAME}/val/images/{image}/reports"
        for kind in ("wrong class", "wrong box", "object missing"):
            words = f"The object on the left, which is cut by the edge of the image: {kind}."
            sent = self.participant.http.post(address, json={"kind": kind, "text": words})
            assert sent.status_code == 201, sent.text
        return image

    @property
    def draft(self) -> str:
        """A draft of the organiser whose annotation was read and whose steps but the last are saved."""
        http, here = self.organiser.http, f"/organise/new/{DRAFT}"
        if http.get(here).headers.get("location") == f"{here}/page":  # the first step that is not done
            return DRAFT
        what = {"title": "A draft", "code": DRAFT, "template": "voc", "tasks": "detection", "tracks": "one"}
        http.post("/organise/new", data=what)
        [intake] = http.get(f"/api/v1/organise/challenges/{DRAFT}/data-sets").json()["intakes"]
        address = f"/api/v1/organise/data-sets/{intake['id']}"
        assert http.put(f"{address}/files/hidden/test.zip", content=zipped(kit("test"))).status_code == 201
        http.post(f"{here}/data")
        assert eventually(lambda: http.get(address).json()["state"] == "read", READING)
        checked = http.post(f"{here}/check", data={"sets": "hidden-0", "without_picture": "3"})
        assert checked.status_code == 303, checked.text
        scored = http.post(f"{here}/scoring", data={"protocol": "voc2012", "own": "all", "others": "live"})
        assert scored.status_code == 303, scored.text
        rules = {
            "per_week": "2",
            "total": "30",
            "visibility": "invited",
            "invited": "@example.org",
            "terms": "own",
        }
        saved = http.post(f"{here}/rules", data={**rules, "terms_text": "Be fair to all others."})
        assert saved.status_code == 303, saved.text
        return DRAFT

    @property
    def compared(self) -> str:
        """Two methods of a board of the test set, as the query of their comparison."""
        board = self.participant.http.get("/api/v1/leaderboards/sample/test/3").json()
        return "&".join(f"methods={row['method_id']}" for row in board["rows"][:2])

    @property
    def run(self) -> int:
        """The run of a result on the public set that its page shows now."""
        [result] = self.participant.submission(self.scored["val", 3])["results"]
        return int(result["shown"]["id"])

    def session(self, who: str) -> str:
        """The session cookie of the participant or the organiser."""
        client = self.organiser if who == "organiser" else self.participant
        return str(client.http.cookies[SESSION_COOKIE])

    def worker_asleep(self) -> AbstractContextManager[None]:
        """Stop the worker during the block, so that nothing is scored."""
        return stopped(tree_of(self.installation.pid("worker")))

    def organiser_link(self) -> str:
        """A link that makes the first person who uses it an organiser of the sample challenge."""
        token = roles.create_organiser_link(self.installation.platform, sample.NAME)
        return f"{self.address}/role-links/{token}"


@contextmanager
def running_site(servers: OwnServers, *, is_empty: bool = False) -> Iterator[Site]:
    """A site that runs until the end of the block, with three results on its board of the test set, unless it shall be empty."""
    with (
        installation(servers, max_upload=1 << 20, workers=1, sweep_seconds=5) as place,
        tempfile.TemporaryDirectory(prefix="heldout sample ") as folder,
    ):
        tree = sample.draw_challenge(Path(folder), images=IMAGES).tree
        for image_set, disclosure in SETS.items():
            import_tree(
                place.platform,
                TreeImport(
                    tree,
                    sample.NAME,
                    image_set,
                    title="Sample challenge",
                    disclosure=disclosure,
                    protocol="voc2012",
                    quotas=(Quota(1000, 7),),
                ),
            )
        address = place.start_web()
        place.start_worker()
        place.start_sender()
        yield _filled(place, address, tree, {} if is_empty else ROWS)


def own_phase(site: Site, folder: Path, code: str, **rules: Any) -> tuple[int, Path]:
    """A new challenge of one image set for a test that changes its annotation; return the id of its phase, and its tree."""
    tree = sample.draw_challenge(folder, images=IMAGES).tree
    load = TreeImport(
        tree, code, title=code.capitalize(), protocol="voc2012", quotas=(Quota(1000, 7),), **rules
    )
    import_tree(site.installation.platform, load)
    [found] = good(site.organiser.http.get(f"/api/v1/challenges/{code}"))["phases"]
    return int(found["phase"]["id"]), tree


def _filled(place: Installation, address: str, tree: Path, rows: Mapping[tuple[str, int], int]) -> Site:
    drawn = {
        image_set: sample.draw_results(tree, tree.parent / "results", image_set=image_set)
        for image_set in SETS
    }
    entered = {
        (image_set, number): [one for one in drawn[image_set] if one.competition == number][:most]
        for (image_set, number), most in rows.items()
    }
    participant, organiser = (_person(place, address, name) for name in ("Ada Byron", "Olga Orga"))
    token = roles.create_admin_link(place.platform)
    assert organiser.http.post(f"/role-links/{token}").status_code == 303
    give_second_factor(place.platform, "olga@example.org")
    numbers = {
        board: [
            participant.submit(f"{sample.NAME}/{board[0]}", one.archive.read_bytes(), one.method.name)
            for one in results
        ]
        for board, results in entered.items()
    }
    for number in (number for several in numbers.values() for number in several):
        participant.final(number)
    good, good_val = (
        thinned(next(one.archive for one in drawn[image_set] if one.competition == 3))
        for image_set in ("test", "val")
    )
    contents = {"valid": good, "spoilt": spoilt(good)} if rows else {}
    uploads = {
        name: participant.send(f"{sample.NAME}/test", content).json()["id"]
        for name, content in contents.items()
    }
    scored = {board: several[0] for board, several in numbers.items()}
    return Site(place, address, participant, organiser, good, good_val, spoilt(good), scored, uploads)


def _person(place: Installation, address: str, name: str) -> Client:
    client = place.client(address)
    email = f"{name.split(maxsplit=1)[0].lower()}@example.org"
    form = {"email": email, "name": name, "password": "a long password"}
    assert client.http.post("/register", data=form).status_code == 303
    confirm_address(place.platform, email)
    return client
