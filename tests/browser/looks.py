"""Accessibility checks of a page; each returns a list of problems."""

from playwright.sync_api import Page

# WCAG 2.2, 1.4.3: the contrast of every text with its background. A canvas parses every notation of a colour.
FAINT = """(least) => {
  const canvas = document.createElement("canvas");
  canvas.width = canvas.height = 1;
  const pen = canvas.getContext("2d", { willReadFrequently: true });
  const known = new Map();
  const read = (colour) => {
    pen.clearRect(0, 0, 1, 1);
    pen.fillStyle = colour;
    pen.fillRect(0, 0, 1, 1);
    const [red, green, blue, alpha] = pen.getImageData(0, 0, 1, 1).data;
    return { rgb: [red, green, blue], alpha: alpha / 255 };
  };
  const parsed = (colour) => {
    if (!known.has(colour)) known.set(colour, read(colour));
    return known.get(colour);
  };
  const over = (above, alpha, below) => above.map((value, i) => alpha * value + (1 - alpha) * below[i]);
  const chain = (element) => element ? [...chain(element.parentElement), element] : [];
  const behind = (element) => chain(element).reduce((below, each) => {
    const { rgb, alpha } = parsed(getComputedStyle(each).backgroundColor);
    return over(rgb, alpha, below);
  }, parsed("Canvas").rgb);
  const luminance = (rgb) => {
    const [r, g, b] = rgb.map((value) => value / 255).map((v) => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const contrast = (element) => {
    const back = behind(element);
    const { rgb, alpha } = parsed(getComputedStyle(element).color);
    const opacity = chain(element).reduce((all, each) => all * Number(getComputedStyle(each).opacity), alpha);
    const [low, high] = [luminance(over(rgb, opacity, back)), luminance(back)].sort((a, b) => a - b);
    return (high + 0.05) / (low + 0.05);
  };
  const says = (element) => [...element.childNodes].some((node) => node.nodeType === Node.TEXT_NODE && node.data.trim());
  return [...document.body.querySelectorAll("*")]
    .filter((element) => says(element) && element.checkVisibility() && !element.closest(".hidden, .skip"))
    .map((element) => [element, contrast(element)])
    .filter(([, found]) => found < least)
    .map(([element, found]) => `${element.textContent.trim().slice(0, 40)}: ${found.toFixed(2)}`);
}"""

MUTE = """() => {
  const wrong = [];
  const all = (selector) => [...document.querySelectorAll(selector)];
  const say = (what, elements) => elements.forEach((each) => wrong.push(`${what}: ${each.outerHTML.slice(0, 90)}`));
  const pictured = (element) => [...element.querySelectorAll("img[alt]")].map((each) => each.alt).join(" ");
  const name = (element) => (element.getAttribute("aria-label") ?? `${element.textContent} ${pictured(element)}`).trim();
  const named = (id) => document.getElementById(id) !== null;

  if (document.documentElement.lang !== "en") wrong.push("no language");
  for (const one of ["h1", "main", "header", "body > footer", "nav[aria-label=Main]"]) {
    if (all(one).length !== 1) wrong.push(`${all(one).length} of ${one}`);
  }
  say("nameless field", all("input:not([type=hidden]), textarea, select, progress")
    .filter((field) => !field.labels.length && !field.getAttribute("aria-label")));
  say("nameless control", all("a[href], button, summary").filter((each) => !name(each)));
  say("nameless table", all("table").filter((table) => !table.caption?.textContent.trim()));
  say("header of what?", all("th").filter((each) => !["row", "col", "rowgroup", "colgroup"].includes(each.scope)));
  say("nameless drawing", all("svg").filter((each) => each.ariaHidden !== "true" && !each.getAttribute("aria-label") && !each.getAttribute("aria-labelledby")));
  say("scrolls, but not by keyboard", all(".scroll").filter((each) => each.tabIndex !== 0 || !each.getAttribute("aria-label")));
  for (const attribute of ["aria-labelledby", "aria-describedby", "for", "list"]) {
    say(`${attribute} of nothing`, all(`[${attribute}]`)
      .filter((each) => !each.getAttribute(attribute).split(" ").every(named)));
  }
  const ids = all("[id]").map((each) => each.id);
  wrong.push(...ids.filter((id, place) => ids.indexOf(id) !== place).map((id) => `twice: #${id}`));
  const levels = all("h1, h2, h3, h4, h5, h6").map((heading) => Number(heading.tagName[1]));
  if (levels.some((level, place) => level > (levels[place - 1] ?? 0) + 1)) wrong.push(`headings ${levels}`);
  return wrong;
}"""

# How far the middle of a state or a box is from the middle of the words that stand beside it, in pixels.
OFF_THE_LINE = """(most) => [...document.querySelectorAll("main :is(.chip, .badge, td input[type=checkbox])")]
  .filter((each) => each.checkVisibility() && !each.closest(".head") && getComputedStyle(each.parentElement).display !== "flex")
  .map((each) => {
    const words = document.createTreeWalker(each.closest("tr, li, h2, h3, dd, p") ?? each, NodeFilter.SHOW_TEXT);
    const middle = ({ top, bottom }) => (top + bottom) / 2;
    const found = [];
    while (words.nextNode()) {
      const { data, parentElement } = words.currentNode;
      if (!data.trim() || !parentElement.checkVisibility() || parentElement.closest(".chip, .badge, .hidden, .sub, small, details")) continue;
      const range = document.createRange();
      range.selectNodeContents(words.currentNode);
      found.push(...[...range.getClientRects()].map((place) => Math.abs(middle(place) - middle(each.getBoundingClientRect()))));
    }
    return [each, Math.min(...found)];
  })
  .filter(([, off]) => off > most && off < 8)
  .map(([each, off]) => `${each.textContent.trim()}: ${off.toFixed(1)}`)"""

LOADS = 3
# The layout shift as Chromium measures it, which tells of the past at once, and of nothing if nothing has moved.
SHIFTS = """(most) => new Promise((resolve) => {
  const found = [];
  const told = () => resolve(found.reduce((sum, each) => sum + each.value, 0) > most
    ? found.flatMap((each) => each.sources.map(({ node }) => `${each.value.toFixed(3)}: ${node?.outerHTML?.slice(0, 90) ?? node?.textContent}`)) : []);
  new PerformanceObserver((list) => { found.push(...list.getEntries()); }).observe({ type: "layout-shift", buffered: true });
  setTimeout(told, 150);
})"""

# Is the focused element in the viewport, and is its focus visible?
FOCUSED = """() => {
  const element = document.activeElement;
  const style = getComputedStyle(element);
  const place = element.getBoundingClientRect();
  return {
    name: element.id || element.innerText.trim().replace(/\\s+/g, " "),
    visible: style.outlineStyle !== "none" && parseFloat(style.outlineWidth) >= 2
      && place.bottom > 0 && place.top < innerHeight && place.right > 0 && place.left < innerWidth,
  };
}"""


def faint_texts(page: Page, least: float = 4.5) -> list[str]:
    """Texts with less contrast than this with their background."""
    faint: list[str] = page.evaluate(FAINT, least)
    return faint


def mute_elements(page: Page) -> list[str]:
    """Elements without a name or a label, and headings out of order."""
    mute: list[str] = page.evaluate(MUTE)
    return mute


def shifts(page: Page, most: float = 0.02) -> list[str]:
    """What has moved since the page was loaded, if the layout shifted by more than this in all.

    A table that arrives in pieces, on a busy machine, moves by chance: only what moves each time is told.
    """
    for _ in range(LOADS):
        found: list[str] = page.evaluate(SHIFTS, most)
        if not found:
            return []
        page.reload()
    return found


def off_the_line(page: Page, most: float = 1.5) -> list[str]:
    """States and boxes that stand above or below the words of their line."""
    found: list[str] = page.evaluate(OFF_THE_LINE, most)
    return found


def too_wide_by(page: Page) -> int:
    """Pixels by which the page as a whole scrolls sideways."""
    pixels: int = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
    return pixels


def spilling_cells(page: Page) -> list[str]:
    """Cells of tables whose words run over the cell beside them; the heads of tables that became lists are not seen."""
    found: list[str] = page.evaluate(
        """() => [...document.querySelectorAll("td, th")]
  .filter((each) => each.checkVisibility() && getComputedStyle(each).overflowX === "visible")
  .filter((each) => getComputedStyle(each.parentElement.parentElement).clipPath === "none")
  .filter((each) => each.scrollWidth > each.clientWidth + 1)
  .map((each) => each.textContent.trim().slice(0, 60))"""
    )
    return found[:20]


def beyond_the_edge(page: Page) -> list[str]:
    """The elements that make the page scroll sideways, with their right edges; for messages of tests."""
    found: list[str] = page.evaluate(
        """() => [...document.querySelectorAll("body *")]
  .filter((each) => each.getBoundingClientRect().right > innerWidth + 1)
  .map((each) => `${each.tagName}.${each.getAttribute("class")} ${Math.round(each.getBoundingClientRect().right)}`)"""
    )
    return found[:20]


def tab_until(page: Page, target: str, most: int = 60) -> list[str]:
    """Press the tab key until `target` has the focus; the elements focused on the way, each visibly."""
    names: list[str] = []
    while len(names) < most:
        page.keyboard.press("Tab")
        focused = page.evaluate(FOCUSED)
        assert focused["visible"], focused
        names.append(focused["name"])
        if names[-1] == target:
            return names
    raise AssertionError(names)
