"""People as tests need them: with confirmed addresses, and with their mail."""

from email import message_from_bytes
from email.message import EmailMessage
from email.policy import default

from sqlalchemy import text

from app.core.names import folded
from app.platform import Platform
from tests.system.servers import eventually
from tests.working import do_all


def confirm_address(platform: Platform, email: str) -> None:
    """Make an account one whose address is confirmed, without its mail."""
    statement = text("UPDATE user_account SET verified_at = now() WHERE email = :email")
    with platform.transaction() as session:
        session.execute(statement, {"email": folded(email)})


def letters(platform: Platform, address: str) -> list[EmailMessage]:
    """The mail that lies in the folder for an address, oldest first."""
    files = sorted((platform.settings.data / "mail").glob("*.eml"))
    read = [message_from_bytes(file.read_bytes(), policy=default) for file in files]
    return [message for message in read if message["To"] == address]


def deliver_mail(platform: Platform) -> None:
    """Deliver what waits, as a worker does."""
    do_all(platform)


def link_in(message: EmailMessage) -> str:
    """The path of the one-time link in a letter."""
    [link] = [word for word in message.get_content().split() if word.count("/") == 4]
    return "/" + str(link).split("/", 3)[3]


def mailed_link(platform: Platform, address: str, subject: str = "Confirm your e-mail address") -> str:
    """The path of the link in the latest letter of this subject to an address, once a worker has written one."""

    def found() -> list[EmailMessage]:
        return [letter for letter in letters(platform, address) if letter["Subject"] == subject]

    assert eventually(lambda: bool(found()))
    return link_in(found()[-1])
