"""From a score to the person who waits for it, through real processes."""

from functools import partial
from pathlib import Path

import pytest

from tests.people import letters
from tests.system.conftest import SharedSite
from tests.system.installations import awaited, good
from tests.system.kits import results, small_kit

pytestmark = pytest.mark.system

KIND = "submission scored"  # the phase may also be told to have opened, if a sweep comes late
OWN = f"SELECT m.id FROM notification_mail m JOIN user_account u ON u.id = m.user_id WHERE u.name = 'told oak' AND m.kind = '{KIND}'"


@pytest.mark.sampled
def test_a_score_in_two_competitions_becomes_one_notification_and_one_mail(
    site: SharedSite, tmp_path: Path
) -> None:
    running = site.installation
    running.load(small_kit(tmp_path), "told")
    oak = site.participant("told oak")
    number = oak.submit("told/test", results(3, 4, cat=5, dog=5), "Acorn")
    oak.final(number)

    [told] = awaited(
        lambda: [
            each
            for each in good(oak.http.get("/api/v1/notifications"))["notifications"]
            if each["kind"] == KIND
        ]
    )
    running.ask(f"UPDATE notification_mail SET due_at = now() WHERE id IN ({OWN})")  # it would wait for more
    awaited(partial(running.ask, f"{OWN} AND sent_at IS NOT NULL"))

    [[address]] = running.ask("SELECT email FROM user_account WHERE name = 'told oak'")
    mails = [each["Subject"] for each in letters(running.platform, address) if each["List-Unsubscribe"]]
    assert (told["path"], told["is_read"]) == (f"/submissions/{number}", False)
    assert mails.count(told["sentence"]) == 1
    assert told["sentence"].startswith("Acorn in told, test: ")
    assert len(running.ask(OWN)) == 1
