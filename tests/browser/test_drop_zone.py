"""What can be chosen on the submit page: a folder, several files or a single one."""

import io
import re
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import Visit
from tests.browser.sites import Site
from tests.shared import unpack

pytestmark = pytest.mark.browser


@pytest.fixture
def files(site: Site, tmp_path: Path) -> list[Path]:
    """The prediction files of a valid archive, unpacked."""
    unpack(io.BytesIO(site.good), tmp_path)
    return sorted(tmp_path.rglob("*.txt"))


def sent(page: Page) -> str:
    """The name of the received file, once its report is shown."""
    page.get_by_role("button", name="Upload and check").click()
    expect(page.get_by_role("heading", name="2 · Report")).to_be_focused()
    expect(page).to_have_url(re.compile("/uploads/[0-9a-f-]+$"))
    expect(page.get_by_text("valid", exact=True).first).to_be_visible()
    return page.locator("#submitting .filename").first.inner_text()


def test_a_folder_is_packed_into_a_valid_archive(visit: Visit, files: list[Path], tmp_path: Path) -> None:
    page = visit("participant")
    page.goto("/challenges/sample/test/submit")

    page.get_by_label("Choose a folder").set_input_files(tmp_path / "results")

    expect(page.locator("#upload-state")).to_contain_text(f"{len(files)} files,")
    assert sent(page) == "results.tar"


@pytest.mark.sampled
def test_several_files_are_packed_into_a_valid_archive(visit: Visit, files: list[Path]) -> None:
    page = visit("participant")
    page.goto("/challenges/sample/test/submit")

    page.get_by_label("Archive of prediction files").set_input_files(files)

    assert sent(page) == "results.tar"


def test_a_single_prediction_file_is_accepted_as_it_is(visit: Visit, files: list[Path]) -> None:
    page = visit("participant")
    page.goto("/challenges/sample/test/submit")

    page.get_by_label("Archive of prediction files").set_input_files(files[0])

    assert sent(page) == f"{files[0].name}.tar"


def test_an_archive_and_a_file_together_are_refused(visit: Visit, site: Site, files: list[Path]) -> None:
    archive = files[0].with_name("results.tar.gz")
    archive.write_bytes(site.good)
    page = visit("participant")
    page.goto("/challenges/sample/test/submit")

    page.get_by_label("Archive of prediction files").set_input_files([archive, files[0]])

    expect(page.locator("#upload-state")).to_contain_text("Choose one archive, or prediction files")
