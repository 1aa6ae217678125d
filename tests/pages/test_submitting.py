"""Submitting as participants meet it: limits, warnings, the one page, what follows, and what changes in between."""

import math
import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from html import unescape
from typing import Any

import httpx2
import pytest
from sqlalchemy import select, update
from starlette.testclient import TestClient

from app.models import Disclosure, Phase
from app.organising.importing import TreeImport, import_tree
from app.platform import Platform
from app.web.formats import size
from tests.pages.conftest import Browser
from tests.pages.test_accounts import registered
from tests.pages.test_terms import organiser
from tests.scoring.builders import Kit, annotation, thing
from tests.system.kits import line, packed

OBJECTS = {"bird": 1, "boat": 1, "car": 4, "cat": 1, "cow": 1, "dog": 12}  # in each image
IMAGES = {image_set: tuple(f"{image_set}_{n}" for n in range(12)) for image_set in ("val", "test")}
BOX = (1, 1, 10, 10)
MIB = 1 << 20


@dataclass
class Scene:
    """A challenge with a public and a held-out image set, its organiser and a participant."""

    platform: Platform
    organiser: TestClient
    ash: TestClient

    def phase(self, image_set: str = "test") -> Phase:
        with self.platform.transaction() as session:
            return session.scalars(select(Phase).where(Phase.image_set == image_set)).one()

    def change(self, image_set: str = "test", **columns: Any) -> None:
        """Change a phase behind everybody's back."""
        with self.platform.transaction() as session:
            session.execute(update(Phase).where(Phase.image_set == image_set).values(**columns))
        self.platform.cache.expire_versions()

    def send(self, content: bytes, name: str = "results.tar.gz") -> httpx2.Response:
        """Send an archive by the plain form."""
        address = "/challenges/drop/test/submit"
        response = self.ash.post(address, files={"archive": (name, content)})
        assert isinstance(response, httpx2.Response)
        return response

    def report(self, content: bytes) -> Any:
        """Send a valid archive and return its report."""
        where = self.send(content).headers["location"]
        report = self.ash.get(f"/api/v1{where}").json()["report"]
        assert report["valid"], report
        return report


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Any:
    root = tmp_path_factory.mktemp("drop") / "VOC2012"
    objects = [thing(name, BOX) for name, number in OBJECTS.items() for _ in range(number)]
    for image_set, images in IMAGES.items():
        labels = {name: "1 " * len(images) for name in OBJECTS}
        Kit(root, image_set).main({image: annotation(*objects) for image in images}, labels)
    return root


@pytest.fixture(scope="module")
def _challenge(platform: Platform, tree: Any) -> None:
    for image_set, disclosure in (("val", Disclosure.FULL), ("test", Disclosure.CLASSES)):
        import_tree(platform, TreeImport(tree, "drop", image_set, title="Drop", disclosure=disclosure))


@pytest.fixture
def scene(browser: Browser, platform: Platform, _challenge: None, request: pytest.FixtureRequest) -> Scene:
    name = str(len(request.node.name))
    people = (
        organiser(browser, platform, f"olga{name}@example.org", "drop"),
        registered(browser(), f"ash{name}@example.org"),
    )
    return Scene(platform, *people)


def archive(*order: str, image_set: str = "test", competition: int = 3) -> bytes:
    """An archive with as many predictions of each class as another one in this order has objects; by default its own."""
    numbers = dict(zip(OBJECTS, (OBJECTS[name] for name in order or OBJECTS), strict=True))
    return packed(
        {
            f"results/VOC2012/Main/comp{competition}_det_{image_set}_{name}.txt": "".join(
                line(image, place / 20 + n / 1000, BOX)
                for place, image in enumerate(IMAGES[image_set])
                for n in range(number)
            ).encode()
            for name, number in numbers.items()
        }
    )


SHUFFLED = ("dog", "bird", "boat", "car", "cat", "cow")


def test_a_report_compares_class_shares_with_public_annotation_alone(scene: Scene) -> None:
    def codes() -> list[str]:
        return [each["code"] for each in scene.report(archive(*SHUFFLED))["warnings"]]

    [warning] = scene.report(archive(*SHUFFLED))["warnings"]
    assert warning["message"] == (
        "comp3: the shares of the classes are far from those in val, whose annotation is public: 'bird' has 60% of the 240 predictions "
        "and 5% of the 240 objects there; 70% of the predictions would have to be of another class. "
        "Are the classes in another order?"
    )
    assert scene.report(archive())["warnings"] == []
    opened = scene.phase("val").opens_at
    scene.change("val", opens_at=datetime.now(UTC) + timedelta(days=1))
    assert codes() == []  # nothing is public now, and the hidden annotation of test is not used
    scene.change("val", opens_at=opened)


def test_organisers_set_the_size_of_archives_on_the_page_of_the_phase(scene: Scene) -> None:
    phase, content = scene.phase(), archive()
    page = f"/organise/phases/{phase.id}"
    form = {
        "opens_at": f"{phase.opens_at:%Y-%m-%dT%H:%M}",
        "grace_minutes": "60",
        "quotas": "2/7",
        "reason": "COCO",
    }

    def limited(**limits: str) -> httpx2.Response:
        return scene.organiser.post(f"{page}/rules", data=form | limits)

    shown = unescape(scene.organiser.get(page).text)
    assert re.search(r'name="max_upload"\s+type="number"\s+autocomplete="off"\s+value="1"', shown)
    assert "At most 1.0 MiB on this server." in shown
    beyond = limited(max_upload="1.5", max_file_bytes="99999999", max_lines="7")
    assert beyond.status_code == 409
    for reason in (
        "size of an archive: this server allows at most 1.0 MiB",
        "size of a file: this",
        "lines of a file: this can only",
    ):
        assert reason in beyond.text
    assert 'value="1.5"' in beyond.text
    assert limited(max_upload="many").status_code == 422
    less = len(content) // 2 / MIB
    assert limited(max_upload=f"{less}", max_file_bytes="1200", max_unpacked_bytes="2400").status_code == 303
    try:
        refused = scene.send(content)
        assert refused.status_code == 413
        assert f"this one has {len(content)}" in refused.text
        told = (
            f"At most {size(math.ceil(less * MIB))} as it is sent, 2.3 GiB unpacked and 1.2 GiB of one file"
        )
        for address in ("/data", "/rules", "/test/submit", "/test/competitions/3"):
            assert told in " ".join(scene.ash.get(f"/challenges/drop{address}").text.split()), address
        assert re.search(r'data-most="\d{3,4}"', scene.ash.get("/challenges/drop/test/submit").text)
    finally:
        scene.change(max_upload=None)
    assert scene.send(content).status_code == 303
