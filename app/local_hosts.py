"""Which names of hosts lead to this machine."""

from ipaddress import ip_address


def is_local(host: str) -> bool:
    """Whether only this machine can reach a host of this name.

    >>> is_local("127.0.0.1"), is_local("localhost"), is_local("0.0.0.0"), is_local("voc.example.org")
    (True, True, False, False)
    """
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
