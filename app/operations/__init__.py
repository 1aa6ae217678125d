"""Running an installation: commands, embedded servers, health, metrics, administration, backup, migrations."""
