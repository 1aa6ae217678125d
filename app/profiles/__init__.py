"""Personal data: changed, handed out and erased."""
