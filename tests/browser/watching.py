"""What no page may do in any test: log errors to the console, break the content policy, send requests to other hosts."""

from dataclasses import dataclass, field

from playwright.sync_api import BrowserContext, ConsoleMessage, Request, Response, WebError

REPORT_VIOLATIONS = """addEventListener("securitypolicyviolation", (event) => {
  console.error(`content policy: ${event.violatedDirective} ${event.blockedURI}`);
});"""
NOT_LOADED = (
    "Failed to load resource"  # logged by the console for each response of 400 or more, pages included
)


@dataclass  # without slots: Playwright stores attributes on the object whose methods it calls
class Watch:
    """Listens to the pages of a test."""

    address: str
    heard: list[tuple[str, str]] = field(default_factory=list)  # the message and its address
    refused: set[str] = field(default_factory=set)  # addresses that tests expect to be refused

    def over(self, context: BrowserContext) -> None:
        """Listen to every page of this window."""
        context.add_init_script(REPORT_VIOLATIONS)
        context.on("console", self._console)
        context.on("weberror", self._error)
        context.on("request", self._request)
        context.on("response", self._response)

    def complaints(self) -> list[str]:
        """Messages that should not have appeared."""
        return [
            f"{what} ({of})"
            for what, of in self.heard
            if not (what.startswith(NOT_LOADED) and of in self.refused)
        ]

    def _console(self, message: ConsoleMessage) -> None:
        if message.type in ("error", "warning"):
            self.heard.append((message.text, message.location["url"]))

    def _error(self, error: WebError) -> None:
        self.heard.append((str(error.error), error.page.url if error.page else ""))

    def _request(self, request: Request) -> None:
        if not request.url.startswith((f"{self.address}/", "data:")):
            self.heard.append(("a request to another host", request.url))

    def _response(self, response: Response) -> None:
        if response.status >= 400 and response.request.is_navigation_request():
            self.refused.add(response.url)
