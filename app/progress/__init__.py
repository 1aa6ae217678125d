"""How a submission comes along while it waits, for pages that ask again and again."""
