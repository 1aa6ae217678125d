"""The settings of the installation that a command works on."""

from app.core import logs
from app.core.settings import Settings, SettingsError, variable
from app.operations.data_folder import installation_settings
from app.platform import Platform, platform_of


def platform_of_installation() -> Platform:
    """The platform of the running installation; raises SettingsError where none is found."""
    logs.configure()
    return platform_of(complete(installation_settings(Settings.read())))


def complete(settings: Settings) -> Settings:
    """The settings, if they name both servers; raises SettingsError."""
    missing = [variable(name) for name in ("database_url", "broker_url") if getattr(settings, name) is None]
    if missing:
        raise SettingsError(
            f"{' and '.join(missing)} {'is' if len(missing) == 1 else 'are'} not set; "
            "set both addresses, or use `make run` with neither, which starts servers of its own"
        )
    return settings
