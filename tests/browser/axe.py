"""axe-core, which checks rules of WCAG and assistive technology that `looks` does not."""

from axe_playwright_python.base import AXE_SCRIPT
from playwright.sync_api import Page

# `looks.faint_texts` measures contrast in both colour schemes; it would cost axe more than all other rules together.
RUN = """async () => {
  const found = await axe.run(document, {
    resultTypes: ["violations"], elementRef: false, rules: { "color-contrast": { enabled: false } },
  });
  return found.violations.flatMap(({ id, impact, nodes }) =>
    nodes.map(({ html }) => `${id} (${impact}): ${html.slice(0, 120)}`));
}"""


def violations(page: Page) -> list[str]:
    """Every element that breaks a rule or a best practice of axe-core, whatever the impact."""
    page.evaluate(AXE_SCRIPT)
    found: list[str] = page.evaluate(RUN)
    return found
