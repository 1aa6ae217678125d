"""Values planted in hidden ground truth: only organisers ever see one, wherever readers look."""

import itertools
import re
import tarfile
from base64 import b64encode, urlsafe_b64encode
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from email import message_from_bytes
from email.policy import default
from functools import partial
from hashlib import blake2b, sha256
from io import BytesIO
from itertools import chain, product
from pathlib import Path

import pytest
from sqlalchemy import select

from app.challenges import kits
from app.core.access import Scope
from app.models import Challenge, ChallengeOrganiser, Member, Team
from app.people.accounts import create_person
from app.people.sessions import Browser, start_session
from app.people.tokens import NewToken, create_token
from app.platform import Platform
from app.web.dependencies import SESSION_COOKIE
from heldout_scoring.data.matches import open_matches
from heldout_scoring.stored import ForeignFileError
from tests.scoring.builders import Kit, annotation, part, thing
from tests.system.conftest import SharedSite, running_site
from tests.system.crawling import ROUTES, Crawl
from tests.system.installations import Client, Installation, awaited, good
from tests.system.kits import packed
from tests.system.servers import OwnServers
from tests.system.test_hidden import fractions

pytestmark = [pytest.mark.slow, pytest.mark.system, pytest.mark.timeout(400)]

PHASE = "canary/test"
IMAGES = tuple(f"{number:06d}" for number in range(1, 14))
COORDINATES = itertools.count(61_057, 311)  # every coordinate of a hidden box is unique
CROWD = 10_729  # dogs in the last image; no image or board has as many of anything else
WORDS = ("CanaryPose", "canary-source-7f3a", "canary-flickr-9c1e")
SIDE = 99_991

OURS = "IN (SELECT p.id FROM phase p JOIN challenge e ON p.challenge_id = e.id WHERE e.code = 'canary')"
IDS = {
    "phase_id": f"SELECT id FROM phase WHERE id {OURS}",
    "result_id": f"SELECT id FROM result WHERE phase_id {OURS}",
    "submission_id": f"SELECT id FROM submission WHERE phase_id {OURS}",
    "run_id": f"SELECT r.id FROM run r JOIN result n ON r.result_id = n.id WHERE n.phase_id {OURS}",
    "receipt": f"SELECT r.receipt FROM run r JOIN result n ON r.result_id = n.id WHERE n.phase_id {OURS}",
    "upload_id": f"SELECT id FROM upload WHERE phase_id {OURS}",
    "method_id": f"SELECT method_id FROM result WHERE phase_id {OURS}",
    "team_id": f"SELECT team_id FROM upload WHERE phase_id {OURS}",
    "user_id": f"SELECT user_id FROM upload WHERE phase_id {OURS}",
    "competition": f"SELECT competition FROM board WHERE phase_id {OURS}",
    "thread_id": f"SELECT id FROM thread WHERE phase_id {OURS}",
}
"""What the addresses of routes can name, by parameter."""


KNOWN = f"""
    SELECT e.code, p.image_set, g.version::text, g.public_id::text, replace(g.public_id::text, '-', ''), u.sha256, u.filename,
        b.protocol, b.scorer, m.name, t.name
    FROM phase p JOIN challenge e ON p.challenge_id = e.id JOIN ground_truth g ON g.phase_id = p.id
    JOIN board b ON b.phase_id = p.id JOIN upload u ON u.phase_id = p.id JOIN submission s ON s.upload_id = u.id
    JOIN method m ON s.method_id = m.id JOIN team t ON t.id = m.team_id WHERE p.id {OURS}
"""
"""What everybody knows of the phase."""


def box() -> tuple[int, int, int, int]:
    left, top, right, bottom = sorted(itertools.islice(COORDINATES, 4))
    return left, top, right, bottom


@dataclass(frozen=True)
class Planted:
    """A tree with hidden annotation, results that find part of it, and the values nobody may read."""

    root: Path
    results: bytes
    secrets: tuple[str, ...]


def planted(folder: Path) -> Planted:
    """Thirteen images with a cat each, a person with a head in the first, and a crowd of dogs in the last."""
    cats = {image: box() for image in IMAGES}
    person, head, dog = box(), box(), box()
    said = f"<pose>{WORDS[0]}</pose><source><annotation>{WORDS[1]}</annotation><flickrid>{WORDS[2]}</flickrid></source>"
    images = {image: [thing("cat", cats[image]).replace("<bndbox>", f"{said}<bndbox>")] for image in IMAGES}
    images[IMAGES[0]].append(thing("person", person, parts=part("head", head)))
    images[IMAGES[-1]] += [thing("dog", dog)] * CROWD
    labels = {
        "cat": "1 " * len(IMAGES),
        "dog": "-1 " * (len(IMAGES) - 1) + "1",
        "person": "1" + " -1" * (len(IMAGES) - 1),
    }
    kit = Kit(folder / "VOC2012").main(
        {image: annotation(*things, width=SIDE, height=SIDE) for image, things in images.items()}, labels
    )
    kit.write("ImageSets/Layout/test.txt", f"{IMAGES[0]} 1\n")
    found = dict.fromkeys(labels, "")
    for place, image in enumerate(IMAGES[:7]):
        left, top, right, bottom = cats[image]
        found["cat"] += f"{image} {0.9 - place / 100:.2f} {left} {top} {right - 7} {bottom - 7}\n"
    found["dog"] = f"{IMAGES[-1]} 0.5 {' '.join(map(str, dog))}\n"
    found["person"] = f"{IMAGES[1]} 0.5 5 5 50 50\n"
    files = {f"results/VOC2012/Main/comp3_det_test_{name}.txt": text.encode() for name, text in found.items()}
    for name in labels:
        rows = (f"{image} {(7 * place % 13) / 13:.3f}\n" for place, image in enumerate(IMAGES))
        files[f"results/VOC2012/Main/comp1_cls_test_{name}.txt"] = "".join(rows).encode()
    hidden = {*itertools.chain(*cats.values()), *person, *head, *dog}
    sent = {int(word) for word in " ".join(found.values()).split() if word.isdigit()}
    return Planted(kit.root, packed(files), (*WORDS, *map(str, sorted(hidden - sent)), str(CROWD)))


@dataclass(frozen=True)
class Crawled:
    """Everything that all readers have read, and what was planted."""

    running: Installation
    planted: Planted
    readers: Mapping[str, Crawl]
    organiser: Crawl


@pytest.fixture(scope="module")
def crawled(own_servers: OwnServers, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Crawled]:
    """A public and a private result of one team, the only ones ever scored, as read by everybody."""
    with running_site(own_servers) as site:
        yield crawl(site, tmp_path_factory.mktemp("kit"))


def crawl(site: SharedSite, folder: Path) -> Crawled:
    secret, running = planted(folder), site.installation
    running.load(secret.root, "canary")
    oak = site.participant("oak")
    shown, private = (
        int(
            good(
                oak.confirm(
                    oak.upload(PHASE, secret.results), name, competitions=which, make_public=is_public
                )
            )["id"]
        )
        for name, which, is_public in (("Acorn", (1, 3), True), ("Bark", (3,), False))
    )
    for number in (shown, private):
        awaited(partial(is_complete, site.organiser, number))
    link = private_link(oak, private)
    awaited(partial(is_mailed, running, "submission scored"))
    with running.platform.transaction() as session:
        kits.queue_kit(session, session.scalars(select(Challenge.id).where(Challenge.code == "canary")).one())
    running.platform.notifier.wake_workers()
    awaited(lambda: site.anybody.http.get("/challenges/canary/kit.tar.gz").is_success)
    ask_and_answer(oak, site.organiser, private)
    values = {name: tuple(str(row[0]) for row in running.ask(query)) for name, query in IDS.items()}
    values |= {
        "challenge": ("canary",),
        "image_set": ("test",),
        "link_token": (link,),
        "token": (link.rpartition("/")[2],),
    }
    people = {**readers(running, site.addresses), "owner, token to submit": oak}
    with ThreadPoolExecutor(2) as together:
        found = together.map(lambda person: Crawl(person.http, values).run(["/", link]), people.values())
        crawls = dict(zip(people, found, strict=True))
    return Crawled(running, secret, crawls, Crawl(site.organiser.http, values).run(["/"]))


def ask_and_answer(oak: Client, organiser: Client, number: int) -> None:
    """Ask about a submission and its upload, answer, publish the answer, and write to the team."""
    for about in ({"submission": number}, {"upload": oak.submission(number)["upload_id"]}):
        asked = oak.http.post(
            "/api/v1/challenges/canary/threads", json={"title": "Why?", "text": "Why?", **about}
        )
        thread = good(asked)["thread"]["id"]
        good(organiser.http.post(f"/api/v1/organise/threads/{thread}/messages", json={"text": "Because"}))
        texts_of_answer = {"title": "Why?", "question": "Why?", "answer": "Because"}
        good(organiser.http.put(f"/api/v1/organise/threads/{thread}/answer", json=texts_of_answer))
    message = {
        "title": "Thanks",
        "text": "Thanks",
        "audience": "have a result",
        "image_set": "test",
        "competition": 3,
    }
    good(organiser.http.post("/api/v1/organise/challenges/canary/news", json=message))


def is_complete(organiser: Client, number: int) -> bool:
    """Whether all follow-up jobs of a submission's scores are done."""
    submission = organiser.submission(number)
    shown = [each["shown"] for each in submission["results"]]
    return bool(submission["is_final"]) and all(each and each["low"] is not None for each in shown)


def is_mailed(running: Installation, kind: str) -> bool:
    """Whether mail about a kind of event was sent; it need not wait for more."""
    running.ask("UPDATE notification_mail SET due_at = now() WHERE attempts = 0")
    return bool(running.ask("SELECT id FROM notification_mail WHERE kind = %s AND sent_at IS NOT NULL", kind))


def private_link(oak: Client, number: int) -> str:
    result = oak.submission(number)["results"][0]["id"]
    return str(good(oak.http.post(f"/api/v1/results/{result}/links"))["path"])


def readers(running: Installation, addresses: tuple[str, str]) -> dict[str, Client]:
    """All readers who do not organise the challenge: with a session cookie, with a token, anonymous."""
    with running.platform.transaction() as session:
        challenge = session.scalars(select(Challenge.id).where(Challenge.code == "canary")).one()
        team = session.scalars(select(Team.id).where(Team.challenge_id == challenge)).one()
        other = Team(challenge_id=challenge, name="Elm", name_key="elm")
        elsewhere = Challenge(code="canary-elsewhere", title="Elsewhere", dataset="VOC2012")
        session.add_all((other, elsewhere))
        session.flush()
        rows = {
            "participant": None,
            "member": Member(team_id=team, challenge_id=challenge),
            "other team": Member(team_id=other.id, challenge_id=challenge, is_owner=True),
            "organiser elsewhere": ChallengeOrganiser(challenge_id=elsewhere.id),
        }
        cookies, people = {}, {}
        for name, row in rows.items():
            email = f"canary.{name}@example.org".replace(" ", ".")
            person = create_person(session, email, name, None, is_verified=True)
            people[name] = person.id
            cookies[name] = start_session(session, running.platform, person.id, Browser("test"))
            if row is not None:
                row.user_id = person.id
                session.add(row)
    names = ("reviewer, not logged in", *cookies)
    found = {name: running.client(addresses[place % 2]) for place, name in enumerate(names)}
    for name, cookie in cookies.items():
        found[name].http.cookies.set(SESSION_COOKIE, cookie)
    for owner, scope in (("member", Scope.READ), ("organiser elsewhere", Scope.ORGANISE)):
        token = create_token(
            running.platform, people[owner], NewToken(name="t", scope=frozenset({scope}), days=1)
        )
        found[f"{owner}, token to {scope}"] = running.client(addresses[0], token)
    return found


def texts(crawled: Crawled) -> Iterator[tuple[str, str]]:
    """Everything read by anyone and every log and mail, each with its place; without times, whose digits are random."""
    data = crawled.running.settings.data
    files = [*data.glob("logs/*"), *data.glob("mail/*")]
    assert len(files) > 2
    responses = (
        (f"{reader}: {address}", text)
        for reader, crawl in crawled.readers.items()
        for address, text in crawl.texts()
    )
    for where, text in itertools.chain(responses, ((file.name, content_of(file)) for file in files)):
        yield where, re.sub(r"\d\d:\d\d:\d\d[.,]\d+", "", text)


def content_of(file: Path) -> str:
    """A log, or a mail with its headers and all its parts, decoded."""
    if file.suffix != ".eml":
        return file.read_text()
    message = message_from_bytes(file.read_bytes(), policy=default)
    bodies = [part.get_content() for part in message.walk() if not part.is_multipart()]
    return "\n".join((*(f"{name}: {value}" for name, value in message.items()), *bodies))


def holding(words: Iterable[str], found: Iterable[tuple[str, str]]) -> dict[str, set[str]]:
    """The places where each of these words occurs; digits also in groups of three."""
    grouped = (re.sub(r"(?<=\d)(?=\d{3}$)", "[,. \u202f\xa0]?", word) for word in words)
    pattern = re.compile(rf"(?<![\w.])(?:{'|'.join(grouped)})(?!\w)")
    return {where: set(pattern.findall(text)) for where, text in found if pattern.search(text)}


def test_only_organisers_see_planted_values(crawled: Crawled) -> None:
    assert holding(crawled.planted.secrets, texts(crawled)) == {}


def test_the_development_kit_has_no_planted_value(crawled: Crawled) -> None:
    organiser = crawled.organiser.read["/challenges/canary/kit.tar.gz"]
    found = dict(unpacked(organiser.content))

    assert {Path(name).name for name in found} > {"README.md", "submit.sh", "images.txt"}
    assert any(name.startswith("results/") for name in found)  # of the examples
    assert holding(crawled.planted.secrets, found.items()) == {}


def unpacked(content: bytes) -> Iterator[tuple[str, str]]:
    """The files of an archive, also of those in it, with their names."""
    with tarfile.open(fileobj=BytesIO(content)) as archive:
        for member in archive:
            inner = archive.extractfile(member)
            assert inner is not None
            inside = inner.read()
            if member.name.endswith(".tar.gz"):
                yield from unpacked(inside)
            else:
                yield member.name, f"{member.name}\n{inside.decode(errors='replace')}"


def test_only_organisers_see_values_that_confirm_a_guessed_annotation(crawled: Crawled) -> None:
    oracles = plain_hashes(crawled.running.platform)
    facts = set(
        chain.from_iterable(
            map(str, row) for query in (*IDS.values(), KNOWN) for row in crawled.running.ask(query)
        )
    )
    begin = beginnings({*oracles, *hashed_together(oracles, facts)})
    met = {
        where: found
        for where, text in texts(crawled)
        if (found := {token for token in re.findall(r"[\w/+-]{12,}", text) if token[:12] in begin})
    }

    assert (
        len(oracles) == 6
    )  # of a ground truth, the fingerprints of its images, and the matches and receipts of two competitions
    assert met == {}


def test_nothing_in_the_database_or_file_names_confirms_a_guessed_annotation(crawled: Crawled) -> None:
    running = crawled.running
    oracles = plain_hashes(running.platform)
    dump = "\n".join(
        str(row)
        for (table,) in running.ask("SELECT tablename FROM pg_tables WHERE schemaname = 'public'")
        for row in running.ask(f'SELECT * FROM "{table}"')
    )
    [[fingerprint]] = running.ask(f"SELECT fingerprint FROM ground_truth WHERE phase_id {OURS}")

    assert fingerprint in dump
    assert {each for each in oracles if each in dump} == set()
    names = {path.name for path in (running.settings.data / "private").rglob("*")}
    assert {name for name in names if name[:64] in oracles} == set()
    assert {where for where, text in texts(crawled) if fingerprint[:12] in text} == set()


def plain_hashes(platform: Platform) -> set[str]:
    """The unkeyed hashes of everything in private storage, and the plain receipts of all results."""
    found = set()
    for content in platform.truths.contents():
        with platform.truths.materialise(content.key) as path:
            found.add(sha256(path.read_bytes()).hexdigest())
            with suppress(ForeignFileError):
                found.add(open_matches(path)[0].receipt)
    return found


def hashed_together(oracles: set[str], facts: set[str]) -> set[str]:
    """Hashes of each of these alone or together with something publicly known."""
    pairs = chain(product(oracles, [*facts, ""]), product([*facts, ""], oracles))
    texts = {between.join(pair) for pair in pairs for between in ("", " ", ":", "/", "-", "\n")}
    return {
        digest
        for text in texts
        for digest in (sha256(text.encode()).hexdigest(), blake2b(text.encode()).hexdigest())
    }


def beginnings(hexadecimal: set[str]) -> set[str]:
    """The first characters of these hashes, in hex and in base64."""
    return {each[:12] for each in hexadecimal} | {
        encode(bytes.fromhex(each)).decode()[:12]
        for each in hexadecimal
        for encode in (b64encode, urlsafe_b64encode)
    }


def test_notifications_and_mail_about_scores_are_among_what_is_searched(crawled: Crawled) -> None:
    found = dict(texts(crawled))
    mails = [text for where, text in found.items() if where.endswith(".eml") and "Acorn" in text]
    owner = crawled.readers["owner, token to submit"]

    assert any("scored" in text and "<h1>" in text for text in mails)
    for address in ("/notifications", "/api/v1/notifications"):
        assert "Acorn in canary" in owner.read[address].text


def test_the_search_finds_planted_values_that_organisers_see(crawled: Crawled) -> None:
    assert any(holding([str(CROWD)], crawled.organiser.texts()).values())


def test_only_organisers_see_more_digits_than_disclosed(crawled: Crawled) -> None:
    values = {
        value
        for (value,) in crawled.running.ask("SELECT value FROM class_score UNION SELECT low FROM class_score")
        if value is not None and value > 0.1 and value != round(value, 3)
    }
    exact = {f"{value:.9f}"[2:6] for value in values}
    pattern = re.compile(
        rf"(?<![\w.])(?:0?\.({'|'.join(exact)})|({'|'.join(f'{int(e[:2])}[.]{e[2:]}' for e in exact)}))"
    )

    assert len(values) > 4
    assert {where: pattern.findall(text) for where, text in texts(crawled) if pattern.search(text)} == {}
    assert any(pattern.search(text) for _, text in crawled.organiser.texts())


def test_decimals_in_api_responses_have_at_most_three_digits(crawled: Crawled) -> None:
    found = {
        f"{reader}: {address}": number
        for reader, crawl in crawled.readers.items()
        for address, response in crawl.read.items()
        if response.headers.get("content-type", "") == "application/json"
        and re.search("/canary|/runs/|/submissions|/anonymous/", address)
        for number in fractions(response.json())
        if number != round(number, 3)
    }

    assert found == {}


def test_the_crawl_covers_many_pages_without_server_errors(crawled: Crawled) -> None:
    everybody = {**crawled.readers, "organiser": crawled.organiser}
    broken = [
        f"{reader}: {address}"
        for reader, crawl in everybody.items()
        for address, response in crawl.read.items()
        if response.status_code >= 500
    ]

    assert broken == []
    for crawl in everybody.values():
        assert len(crawl.opened) >= len({route.path for route in ROUTES})
        assert sum(response.is_success for response in crawl.read.values()) > 30
