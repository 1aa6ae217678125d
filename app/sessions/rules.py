"""Where a session stands: how long it is remembered, and what its browser is called."""

from datetime import timedelta

KEEP_ENDED = timedelta(days=30)  # how long it is known whose session an ended one was

CODE_TIME = timedelta(minutes=10)  # between password and code

# what a header contains, and what it means; the first match counts, as Edge also says Chrome and Chrome also Safari
BROWSERS = (
    ("Edg", "Edge"), ("OPR/", "Opera"), ("Firefox/", "Firefox"), ("FxiOS/", "Firefox"), ("CriOS/", "Chrome"),
    ("Chrom", "Chrome"), ("Safari/", "Safari"), ("curl/", "curl"), ("python", "Python"),
)  # fmt: skip
SYSTEMS = (
    ("Android", "Android"), ("iPhone", "iOS"), ("iPad", "iPadOS"), ("Windows", "Windows"), ("Macintosh", "macOS"),
    ("CrOS", "ChromeOS"), ("Linux", "Linux"),
)  # fmt: skip


def browser_name(user_agent: str) -> str:
    """What a person recognises of a browser's name for itself.

    >>> browser_name("Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0")
    'Firefox on Linux'
    >>> browser_name("wget")
    'unknown browser'
    """
    browser = next((name for sign, name in BROWSERS if sign in user_agent), "unknown browser")
    system = next((name for sign, name in SYSTEMS if sign in user_agent), None)
    return f"{browser} on {system}" if system else browser
