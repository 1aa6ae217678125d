"""A server on which every error can be provoked."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import limits
import pytest
from sqlalchemy import text
from starlette.testclient import TestClient

from app.core.errors import StorageFullError
from app.core.rate_limits import Limited
from app.core.settings import Registration
from app.intake.importing import TreeImport, import_tree
from app.main import create_app
from app.models import Challenge, ChallengeDraft, ChallengeVisibility, Disclosure, Quota
from app.people import accounts
from app.people.passwords import MAX_WAITING, THREADS, pool
from app.platform import Platform
from tests.login_settings import EXAMPLE_ID, with_settings
from tests.pages.test_accounts import PASSWORD
from tests.people import confirm_address
from tests.second_factors import token_of_admin
from tests.system.damage import damaged
from tests.system.installations import STATEMENT
from tests.system.kits import results, small_kit
from tests.system.servers import OwnServers

NOWHERE = "00000000-0000-4000-8000-000000000000"


@dataclass(slots=True)
class Scene:
    """A server with an open, a future and a closed phase, a participant's program and a logged-in browser."""

    platform: Platform
    servers: OwnServers
    program: TestClient
    visitor: TestClient  # a browser that is logged in
    stranger: TestClient  # a program that is not logged in
    uploads: dict[str, str] = field(default_factory=dict)

    def upload(self, phase: str, archive: bytes | None = None) -> str:
        """The upload of a phase, made once."""
        if phase not in self.uploads or archive is not None:
            response = self.program.put(
                f"/api/v1/challenges/{phase}/test/uploads?filename=results.tar.gz",
                content=archive or results(cat=5, dog=5),
            )
            assert response.status_code == 201, response.text
            self.uploads[phase] = response.json()["id"]
        return self.uploads[phase]

    def confirm(self, upload: str, method: str, key: str = "", **more: Any) -> Any:
        """Have an upload scored."""
        body = {"upload": upload, "method": {"name": method}, "training": STATEMENT, **more}
        return self.program.post(
            "/api/v1/submissions", json=body, headers={"Idempotency-Key": key} if key else {}
        )

    def append(self, content: bytes, headers: Mapping[str, str]) -> Any:
        """Send bytes to a new upload by tus."""
        tus = {"Tus-Resumable": "1.0.0", "Upload-Length": "10"}
        created = self.program.post("/api/v1/challenges/free/test/uploads", headers=tus)
        offset = {"Upload-Offset": "0", "Content-Type": "application/offset+octet-stream"}
        where = created.headers["Location"]
        return self.program.patch(where, content=content, headers={**tus, **offset, **headers})

    def one(self, statement: str) -> Any:
        with self.platform.engine.begin() as connection:
            return connection.execute(text(statement)).one()

    def run_sql(self, statement: str) -> None:
        with self.platform.engine.begin() as connection:
            connection.execute(text(statement))


@pytest.fixture(scope="module")
def scene(
    platform: Platform, own_servers: OwnServers, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Scene]:
    tree = small_kit(tmp_path_factory.mktemp("messages"))
    for challenge in ("open", "future", "past"):
        import_tree(platform, TreeImport(tree, challenge, "test", quotas=(Quota(1, 7),)))
    import_tree(
        platform,
        TreeImport(small_kit(tmp_path_factory.mktemp("free")), "free", "test", disclosure=Disclosure.FULL),
    )
    import_tree(
        platform,
        TreeImport(small_kit(tmp_path_factory.mktemp("heldout")), "heldout", "test", quotas=(Quota(9, 7),)),
    )
    app = create_app(platform)

    @app.get("/api/v1/test/crash")
    def crash() -> None:
        raise RuntimeError("a secret of the server")

    @app.get("/api/v1/test/full")
    def full() -> None:
        raise StorageFullError("no space left on device")

    @app.get("/api/v1/test/full-database")
    def full_database() -> None:
        with platform.transaction() as session:
            session.execute(text("DO $$ BEGIN RAISE EXCEPTION USING ERRCODE = 'disk_full'; END $$"))

    @app.get("/api/v1/test/phase-of-nothing")
    def phase_of_nothing() -> None:
        with platform.transaction() as session:
            session.execute(text("UPDATE phase SET challenge_id = 0 WHERE id = (SELECT min(id) FROM phase)"))

    @app.get("/api/v1/test/still-referred-to")
    def still_referred_to() -> None:
        with platform.transaction() as session:
            session.execute(text("DELETE FROM phase"))

    token = accounts.create_program_token(platform, "program@localhost", "Program")
    with (
        TestClient(app, headers={"Authorization": f"Bearer {token}"}) as program,
        TestClient(app, headers={"Accept": "text/html"}, follow_redirects=False) as visitor,
        TestClient(app) as stranger,
    ):
        person = {"email": "visitor@example.org", "name": "Visitor", "password": PASSWORD}
        assert visitor.post("/register", data=person).status_code == 303
        confirm_address(platform, person["email"])
        made = Scene(platform, own_servers, program, visitor, stranger)
        for challenge in ("future", "past"):
            made.upload(challenge)
        made.run_sql(
            "UPDATE phase SET opens_at = now() + interval '1 day' FROM challenge"
            " WHERE challenge.id = challenge_id AND code = 'future'"
        )
        made.run_sql(
            "UPDATE phase SET opens_at = now() - interval '9 days', closes_at = now() - interval '8 days'"
            " FROM challenge WHERE challenge.id = challenge_id AND code = 'past'"
        )
        yield made


Provoke = Callable[[Scene], Any]


def _data_file(scene: Scene, name: str) -> tuple[str, dict[str, str]]:
    """The address of a new file of the open challenge for its organisers, and the headers of an admin's program."""
    token = token_of_admin(scene.platform, "admin@localhost", "Admin")
    headers = {"Authorization": f"Bearer {token}", "Tus-Resumable": "1.0.0", "Upload-Length": "9" * 15}
    facts = {"name": name, "title": "A file", "kind": "other"}
    added = scene.stranger.post("/api/v1/organise/challenges/open/data", json=facts, headers=headers)
    assert added.status_code == 201, added.text
    return added.headers["location"], headers


def deleted_data_file(scene: Scene) -> Any:
    """What somebody is told who follows an old link."""
    file, headers = _data_file(scene, "gone.zip")
    assert scene.stranger.delete(f"{file}?reason=wrong", headers=headers).status_code == 204
    return scene.stranger.get(f"{file.replace('/organise', '')}/content")


def data_file_beyond_the_quota(scene: Scene) -> Any:
    """What an organiser's program is told that sends more than a challenge may store."""
    file, headers = _data_file(scene, "large.zip")
    return scene.stranger.post(f"{file}/uploads", headers=headers)


def changed_rules_of_open_phase(scene: Scene, **changes: Any) -> Any:
    """The response to an admin's program that changes the rules of the open phase."""
    token = token_of_admin(scene.platform, "admin@localhost", "Admin")
    [opens, phase_id] = scene.one(
        "SELECT p.opens_at, p.id FROM phase p JOIN challenge e ON e.id = challenge_id WHERE code = 'open'"
    )
    rules = {
        "opens_at": opens.isoformat(),
        "closes_at": None,
        "grace_minutes": 60,
        "quotas": [{"results": 1, "days": 7}],
    }
    return scene.stranger.put(
        f"/api/v1/organise/phases/{phase_id}/rules",
        json=rules | {"embargo": False, "reason": "a test"} | changes,
        headers={"Authorization": f"Bearer {token}"},
    )


def opened_unfinished_draft(scene: Scene) -> Any:
    """The response to an admin's program that opens a draft of which nothing is done."""
    token = token_of_admin(scene.platform, "admin@localhost", "Admin")
    with scene.platform.transaction() as session:
        draft = Challenge(code="begun", title="Begun", dataset="begun", visibility=ChallengeVisibility.DRAFT)
        session.add(draft)
        session.flush()
        session.add(ChallengeDraft(challenge_id=draft.id))
    return scene.stranger.post(
        "/organise/new/begun/open",
        headers={"Authorization": f"Bearer {token}", "Accept": "application/json"},
    )


def login_beyond_the_limit(scene: Scene) -> Any:
    rates = scene.platform.limiter.rates
    unlimited = rates[Limited.LOGIN]
    rates[Limited.LOGIN] = limits.parse_many("1/hour")
    person = {"email": "ash@example.org", "password": "a wrong password"}
    response = [scene.stranger.post("/login", data=person) for _ in range(2)][-1]
    rates[Limited.LOGIN] = unlimited
    return response


def password_login_without_passwords(scene: Scene) -> Any:
    settings = {"login_providers": (EXAMPLE_ID,), "passwords": False}
    stranger = TestClient(create_app(with_settings(scene.platform, **settings)))
    return stranger.post("/login", data={"email": "ash@example.org", "password": PASSWORD})


def registration_while_closed(scene: Scene) -> Any:
    stranger = TestClient(create_app(with_settings(scene.platform, registration=Registration.CLOSED)))
    return stranger.post("/register", data={"email": "new@example.org", "name": "New", "password": PASSWORD})


def admin_without_second_factor(scene: Scene) -> Any:
    role = "UPDATE user_account SET role = '{}' WHERE email = 'visitor@example.org'"
    scene.run_sql(role.format("admin"))
    response = scene.visitor.get("/organise", headers={"Accept": "*/*"})
    scene.run_sql(role.format("participant"))
    return response


def token_long_after_the_login(scene: Scene) -> Any:
    moved = "UPDATE login_session SET authenticated_at = authenticated_at {} interval '1 day'"
    scene.run_sql(moved.format("-"))
    response = scene.visitor.post("/account/tokens", data={"name": "x"}, headers={"Accept": "*/*"})
    scene.run_sql(moved.format("+"))
    return response


def login_while_others_log_in(scene: Scene) -> Any:
    places = [pool.slots.acquire(blocking=False) for _ in range(THREADS + MAX_WAITING)]
    response = scene.stranger.post("/login", data={"email": "ash@example.org", "password": PASSWORD})
    pool.slots.release(len(places))
    return response


def upload_without_confirmed_address(scene: Scene) -> Any:
    scene.run_sql("UPDATE user_account SET verified_at = NULL WHERE email = 'program@localhost'")
    sent = scene.program.put("/api/v1/challenges/open/test/uploads?filename=x.zip", content=b"x")
    scene.run_sql("UPDATE user_account SET verified_at = now() WHERE email = 'program@localhost'")
    return sent


def submission_before_accepting_terms(scene: Scene) -> Any:
    scene.run_sql(
        "INSERT INTO terms (challenge_id, version, text) SELECT id, 1, 'Be fair.' FROM challenge WHERE code = 'free'"
    )
    sent = scene.confirm(scene.upload("free"), "Yew")
    scene.run_sql("DELETE FROM terms")
    return sent


def hidden_method(scene: Scene) -> Any:
    method = scene.confirm(scene.upload("free"), "Rowan").json()["method"]["id"]
    scene.run_sql(
        "UPDATE method SET description = repeat('long ', 100), hidden_at = now(), hide_reason = 'two methods in one'"
        f" WHERE id = {method}"
    )
    return scene.program.post(f"/api/v1/methods/{method}/public")


def one_result(scene: Scene) -> Any:
    scene.confirm(scene.upload("open"), "Alder", "first")
    return scene.confirm(scene.upload("open"), "Alder")


def used_quota(scene: Scene) -> Any:
    one_result(scene)
    return scene.confirm(scene.upload("open"), "Beech")


def second_team(scene: Scene) -> Any:
    """Create a team after submitting for another."""
    scene.confirm(scene.upload("free"), "Quince")
    return scene.program.post("/api/v1/challenges/free/teams", json={"name": "Another"})


def asked(scene: Scene, question: dict[str, Any], times: int = 1) -> Any:
    """The response to an admin's program that asks a question about methods, perhaps several times."""
    headers = {"Authorization": f"Bearer {token_of_admin(scene.platform, 'admin@localhost', 'Admin')}"}
    address = "/api/v1/organise/challenges/free/questions"
    texts = [question["text"], *(f"{question['text']} {number}" for number in range(2, times + 1))]
    return [scene.stranger.post(address, json={**question, "text": text}, headers=headers) for text in texts][
        -1
    ]


def public_method_without_an_answer(scene: Scene) -> Any:
    asked(scene, {"text": "Runtime", "kind": "number", "is_required": True})
    method = {"name": "Maple2", "description": "x" * 500}
    try:
        body = {"upload": scene.upload("free"), "method": method, "training": STATEMENT, "make_public": True}
        return scene.program.post("/api/v1/submissions", json=body)
    finally:
        scene.run_sql("DELETE FROM question")


def other_kind_of_an_answered_question(scene: Scene) -> Any:
    question = asked(scene, {"text": "Runtime", "kind": "number"}).json()["id"]
    made = scene.confirm(scene.upload("free"), "Maple").json()
    if "method" in made:
        method = made["method"]["id"]
    else:
        [method] = scene.one("SELECT id FROM method WHERE name = 'Maple'")
    scene.program.patch(f"/api/v1/methods/{method}", json={"answers": {str(question): "3"}})
    headers = {"Authorization": f"Bearer {token_of_admin(scene.platform, 'admin@localhost', 'Admin')}"}
    address = f"/api/v1/organise/challenges/free/questions/{question}"
    try:
        return scene.stranger.put(address, json={"text": "Runtime", "kind": "text"}, headers=headers)
    finally:
        scene.run_sql("DELETE FROM question")


def question_repeated(scene: Scene) -> Any:
    try:
        asked(scene, {"text": "Runtime", "kind": "number"})
        return asked(scene, {"text": "Runtime", "kind": "choice", "choices": ["long", "short"]})
    finally:
        scene.run_sql("DELETE FROM question")


def question_too_many(scene: Scene) -> Any:
    try:
        return asked(scene, {"text": "Runtime", "kind": "number"}, 21)
    finally:
        scene.run_sql("DELETE FROM question")


def _organised(scene: Scene, method: str, path: str, **body: Any) -> Any:
    """The response to an admin's program."""
    headers = {"Authorization": f"Bearer {token_of_admin(scene.platform, 'admin@localhost', 'Admin')}"}
    return scene.stranger.request(method, f"/api/v1/organise/{path}", json=body, headers=headers)


def _first_question(scene: Scene, title: str = "Why was I refused?") -> Any:
    """Ask the organisers, as somebody who has asked nothing in the last day."""
    scene.run_sql("UPDATE thread_message SET created_at = created_at - interval '2 days'")
    return scene.program.post("/api/v1/challenges/free/threads", json={"title": title, "text": "Why?"})


def question_to_nobody(scene: Scene) -> Any:
    """Ask where the organisers take no questions."""
    _organised(scene, "PUT", "challenges/free/asking", place="nowhere")
    try:
        return _first_question(scene)
    finally:
        scene.run_sql("DELETE FROM asking_rule")


def message_too_many(scene: Scene) -> Any:
    asked = _first_question(scene)
    messages = f"/api/v1/threads/{asked.json()['thread']['id']}/messages"
    return [scene.program.post(messages, json={"text": f"More {number}"}) for number in range(10)][-1]


def published_name(scene: Scene) -> Any:
    """Publish a question with the name of its team."""
    asked = _first_question(scene, "Another")
    answer = {"title": "Why?", "question": "Program asks why", "answer": "So"}
    return _organised(scene, "PUT", f"threads/{asked.json()['thread']['id']}/answer", **answer)


def message_to_nobody(scene: Scene) -> Any:
    message = {
        "title": "Late",
        "text": "Late",
        "audience": "have a result",
        "image_set": "test",
        "competition": 4,
    }
    return _organised(scene, "POST", "challenges/past/news", **message)


def suspended_team(scene: Scene) -> Any:
    """Confirm for a team that was suspended after the upload."""
    upload = scene.upload("free")
    scene.run_sql("UPDATE team SET suspended_at = now(), suspension_reason = 'shared accounts'")
    try:
        return scene.confirm(upload, "Ash")
    finally:
        scene.run_sql("UPDATE team SET suspended_at = NULL, suspension_reason = ''")


def unapproved_team(scene: Scene) -> Any:
    """Confirm for a team without the approval that its challenge requires."""
    upload = scene.upload("open")
    scene.run_sql("UPDATE challenge SET approves_teams = true")
    scene.run_sql("UPDATE team SET approval = 'waiting'")
    try:
        return scene.confirm(upload, "Ash")
    finally:
        scene.run_sql("UPDATE challenge SET approves_teams = false")
        scene.run_sql("UPDATE team SET approval = 'approved'")


def name_of_another_team(scene: Scene) -> Any:
    confirmation(scene)
    return scene.confirm(scene.upload("free"), "haze1")


def link_to_a_result_without_a_score(scene: Scene) -> Any:
    made = scene.confirm(scene.upload("free"), "Juniper", "juniper").json()
    return scene.program.post(f"/api/v1/results/{made['results'][0]['id']}/links")


def new_name_of_a_scored_method(scene: Scene) -> Any:
    made = scene.confirm(scene.upload("free"), "Elder").json()
    result = made["results"][0]["id"]
    scene.run_sql(f"DELETE FROM job WHERE run_id IN (SELECT id FROM run WHERE result_id = {result})")
    scene.run_sql(f"UPDATE run SET state = 'scored', finished_at = now() WHERE result_id = {result}")
    return scene.program.patch(f"/api/v1/methods/{made['method']['id']}", json={"name": "Fir"})


def other_request_under_a_key(scene: Scene) -> Any:
    scene.confirm(scene.upload("open"), "Alder", "first")
    return scene.confirm(scene.upload("open"), "Cedar", "first")


def retired_name(scene: Scene) -> Any:
    made = scene.confirm(scene.upload("heldout"), "Dogwood").json()
    scene.program.post(f"/api/v1/results/{made['results'][0]['id']}/withdraw", json={"reason": "a mistake"})
    return scene.confirm(scene.upload("heldout"), "Dogwood")


def hidden_curves(scene: Scene) -> Any:
    made = scene.confirm(scene.upload("open"), "Alder", "first").json()
    return scene.program.get(f"/api/v1/runs/{made['results'][0]['shown']['id']}/curves")


def invalid_archive(scene: Scene) -> Any:
    broken = scene.program.put(
        "/api/v1/challenges/free/test/uploads?filename=x.zip", content=b"not an archive"
    ).json()
    return scene.confirm(broken["id"], "Elm")


def unfinished_upload(scene: Scene) -> Any:
    upload = scene.upload("free", results(cat=4))
    scene.uploads.pop("free")
    scene.run_sql(f"UPDATE upload SET state = 'received', valid = NULL WHERE id = '{upload}'")
    return scene.confirm(upload, "Fir")


def removed_upload(scene: Scene) -> Any:
    upload = scene.upload("free", results(cat=3))
    scene.uploads.pop("free")
    scene.run_sql(f"UPDATE upload SET state = 'expired', removed_at = now() WHERE id = '{upload}'")
    return scene.confirm(upload, "Holly")


def without_database(scene: Scene) -> Any:
    scene.platform.engine.dispose()
    with scene.servers.database_down():
        return scene.stranger.get("/api/v1/challenges")


def without_storage(scene: Scene) -> Any:
    folder: Path = scene.platform.settings.public_storage
    aside = folder.rename(folder.with_name("aside"))
    folder.write_text("a file in place of the folder")
    try:
        return scene.program.put("/api/v1/challenges/free/test/uploads?filename=x.zip", content=b"bytes")
    finally:
        folder.unlink()
        aside.rename(folder)


def with_damaged_description(scene: Scene) -> Any:
    [key] = scene.one(
        "SELECT description_key FROM phase JOIN challenge e ON challenge_id = e.id WHERE e.code = 'free'"
    )
    with damaged(scene.platform.descriptions, key, "flipped"):
        response = scene.stranger.get("/api/v1/challenges/free/test/description")
    scene.run_sql("DELETE FROM damaged_content")
    return response


def confirmation(scene: Scene, challenge: str = "free", **fields: Any) -> Any:
    """Submit the visitor's form for one of their uploads."""
    upload = f"visitor's {challenge}"
    if upload not in scene.uploads:
        sent = scene.visitor.put(
            f"/api/v1/challenges/{challenge}/test/uploads?filename=results.tar.gz",
            content=results(cat=5, dog=5),
        )
        scene.uploads[upload] = sent.json()["id"]
    form = {"method": "Hazel", "competition": ["3"], "given_data_only": "true", **fields}
    return scene.visitor.post(f"/uploads/{scene.uploads[upload]}", data=form)


def confirmation_beyond_the_quota(scene: Scene) -> Any:
    confirmation(scene, "open")
    return confirmation(scene, "open", method="Rowan")


def confirmation_sent_twice(scene: Scene) -> Any:
    confirmation(scene)
    return confirmation(scene)
