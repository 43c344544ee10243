"""When contracts are renewed."""


def renewal(start, years):
    """The day on which a contract that began then is renewed."""
    return start.replace(year=start.year + years)
