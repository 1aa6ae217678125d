"""Which workers are alive, and how long a run waits for one."""
