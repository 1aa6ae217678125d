"""The check of an archive that has arrived: its validation report."""
