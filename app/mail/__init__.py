"""Mail to people: asked for in a transaction, written and handed over by a worker, limited in number."""
