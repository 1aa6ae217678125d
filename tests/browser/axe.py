"""axe-core, which knows the rules of WCAG and of assistive technology that `looks` does not."""

from axe_playwright_python.base import AXE_SCRIPT
from playwright.sync_api import Page

# Contrast is measured by `looks.faint_texts` in both colour schemes, and costs axe more than all other rules together.
RUN = """async () => {
  const found = await axe.run(document, {
    resultTypes: ["violations"], elementRef: false, rules: { "color-contrast": { enabled: false } },
  });
  return found.violations.flatMap(({ id, impact, nodes }) =>
    nodes.map(({ html }) => `${id} (${impact}): ${html.slice(0, 120)}`));
}"""


def violations(page: Page) -> list[str]:
    """Each element that breaks a rule of axe-core or one of its best practices, whatever the impact."""
    page.evaluate(AXE_SCRIPT)
    found: list[str] = page.evaluate(RUN)
    return found
