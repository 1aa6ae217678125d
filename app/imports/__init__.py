"""Development kits that become phases."""
