"""The settings of an installation as admins see them: which variable fixes what; secrets are never shown."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path
from typing import Any, Final

from app.core.settings import SECRETS, LoginProvider, Registration, Settings, variable
from app.operations import site
from app.operations.site import SiteSheet
from app.platform import Platform

SIZES: Final = {
    "max_upload",
    "max_stored",
    "max_stored_team",
    "max_data",
    "child_memory",
    "max_intake",
    "max_intake_unpacked",
    "intake_memory",
}
KEYS: Final = (SECRETS | {"s3_access_key"}) - {"login_providers"}
GROUPS: Final[tuple[tuple[str, tuple[str, ...]], ...]] = (
    (
        "Address",
        ("public_url", "trusted_hosts", "trusted_proxies", "secure_cookies", "host", "port", "web_processes"),
    ),
    ("Mail", ("smtp_host", "smtp_port", "smtp_tls", "mail_sender", "mails_per_minute")),
    (
        "Accounts",
        (
            "registration", "passwords", "login_providers", "session_days", "session_idle_hours", "recent_login_minutes",
            "limit_login", "limit_guess", "limit_register", "limit_code",
        ),
    ),
    (
        "Uploads and files",
        (
            "max_upload", "max_stored", "max_stored_team", "max_data", "keep_unconfirmed_days", "keep_invalid_days",
            "keep_partial_days", "checks", "check_seconds", "limit_upload", "limit_change", "limit_view",
            "requests_at_once",
        ),
    ),
    (
        "Data sets",
        (
            "max_intake", "max_intake_unpacked", "max_intake_images", "max_intake_boxes", "intake_memory", "intake_seconds",
            "import_folder",
        ),
    ),
    ("Webhooks", ("webhook_http", "webhook_networks")),
    ("Scoring", ("workers", "scoring_seconds", "child_memory", "attempts", "retry_seconds", "try_it_now")),
    (
        "Storage and servers",
        (
            "data", "storage", "s3_bucket", "s3_endpoint", "s3_region", "s3_access_key", "s3_secret_key", "s3_redirects",
            "database_url", "broker_url", "metrics_token",
        ),
    ),
)  # fmt: skip
# of the web process alone, of workers alone, or for timing between processes: nothing that an admin decides here
LEFT_OUT: Final = {
    "database_password", "migration_database_url", "migration_database_password", "broker_password", "private_storage",
    "s3_private_bucket", "s3_private_access_key", "s3_private_secret_key", "smtp_user", "smtp_password", "stop_seconds",
    "lease_seconds", "sweep_seconds", "delivery_seconds", "stall_seconds",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class SettingView:
    """A setting of this process. is_fixed: its variable is set, and not the default used."""

    variable: str
    description: str
    value: str  # of a secret, only whether there is one
    is_fixed: bool


@dataclass(frozen=True, slots=True)
class SettingGroup:
    """Settings that belong together."""

    title: str
    settings: tuple[SettingView, ...]


@dataclass(frozen=True, slots=True)
class SettingsView:
    """All settings: those that admins change in the browser, and those of the environment."""

    site: SiteSheet
    registration: Registration  # in force
    registration_is_fixed: bool  # by the environment
    groups: tuple[SettingGroup, ...]


def settings_view(platform: Platform) -> SettingsView:
    """Return the settings of the site, and those of the process that answers."""
    return SettingsView(
        site.sheet(platform),
        platform.current_settings().registration,
        site.is_registration_fixed(platform),
        groups_of(platform.settings),
    )


def groups_of(settings: Settings) -> tuple[SettingGroup, ...]:
    """Return the settings of the environment by group."""
    return tuple(
        SettingGroup(title, tuple(_view(settings, name) for name in names)) for title, names in GROUPS
    )


def with_words(groups: Sequence[SettingGroup], query: str) -> tuple[SettingGroup, ...]:
    """Return the settings whose variable, meaning or value has all the words; groups without any are left out."""
    words = query.lower().split()
    found = (
        replace(
            group,
            settings=tuple(
                each
                for each in group.settings
                if all(word in f"{each.variable} {each.description} {each.value}".lower() for word in words)
            ),
        )
        for group in groups
    )
    return tuple(group for group in found if group.settings)


def _view(settings: Settings, name: str) -> SettingView:
    value = getattr(settings, name)
    return SettingView(
        variable(name),
        Settings.model_fields[name].description or "",
        ("set, not shown" if value else "not set") if name in KEYS else shown(value, is_size=name in SIZES),
        name in settings.model_fields_set,
    )


def shown(value: Any, *, is_size: bool = False) -> str:
    """Write the value of a setting that is no secret.

    >>> shown(2 << 30, is_size=True), shown(True), shown(None)
    ('2,048 MiB', 'yes', 'not set')
    """
    match value:
        case None | "" | ():
            return "not set"
        case bool():
            return "yes" if value else "no"
        case StrEnum() | Path() | str():
            return str(value)
        case tuple():
            return ", ".join(each.name for each in value if isinstance(each, LoginProvider))
        case int() if is_size:
            return f"{value >> 20:,} MiB"
    return str(value)
