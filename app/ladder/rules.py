"""Whether a result is a step of its team's ladder."""


def is_step(mean: float, best: float, standard_error: float | None) -> bool:
    """Whether a mean beats the best one so far by more than a standard error of their paired difference.

    standard_error: None where it is not known, and then no mean is a step. Source: Blum and Hardt, "The Ladder: A Reliable
    Leaderboard for Machine Learning Competitions", ICML 2015, the parameter-free mechanism.

    >>> is_step(0.52, 0.5, 0.01), is_step(0.505, 0.5, 0.01), is_step(0.9, 0.5, None)
    (True, False, False)
    """
    return standard_error is not None and mean > best + standard_error
