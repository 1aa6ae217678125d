"""What pages, the queue and a re-scoring cost the server, and how that grows with its history."""
