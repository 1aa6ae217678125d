"""Programs that attack hidden labels: what they recover under each disclosure with the quota of a year."""
