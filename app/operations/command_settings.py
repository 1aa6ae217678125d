"""Settings of the installation that a command works on."""

from app.core import logs
from app.core.settings import Settings, SettingsError, variable
from app.operations.data_folder import installation_settings
from app.platform import Platform, platform_of


def platform_of_installation() -> Platform:
    """Return the platform of the running installation. Raises InstallationError or SettingsError if there is none."""
    logs.configure()
    return platform_of(require_servers(installation_settings(Settings.read())))


def require_servers(settings: Settings) -> Settings:
    """Return the settings. Raises SettingsError unless they name database and broker."""
    missing = [variable(name) for name in ("database_url", "broker_url") if getattr(settings, name) is None]
    if missing:
        raise SettingsError(
            f"{' and '.join(missing)} {'is' if len(missing) == 1 else 'are'} not set; "
            "set both, or neither and use `make run`, which starts its own servers"
        )
    return settings
