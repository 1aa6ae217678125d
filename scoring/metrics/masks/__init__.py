"""Binary masks as runs of pixels."""
