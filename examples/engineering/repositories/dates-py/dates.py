"""Days on which invoices are due."""


def add_months(day, months):
    """The same day so many months later."""
    month = day.month - 1 + months
    return day.replace(year=day.year + month // 12, month=month % 12 + 1)
