import unittest
from datetime import date

from renewals import renewal


class Renewal(unittest.TestCase):
    def test_an_ordinary_day(self):
        self.assertEqual(renewal(date(2023, 6, 15), 2), date(2025, 6, 15))

    def test_the_example_of_the_issue(self):
        self.assertEqual(renewal(date(2024, 2, 29), 1), date(2025, 2, 28))

    def test_from_leap_year_to_leap_year(self):
        self.assertEqual(renewal(date(2024, 2, 29), 4), date(2028, 2, 29))

    def test_the_other_days_of_february(self):
        self.assertEqual(renewal(date(2023, 2, 28), 1), date(2024, 2, 28))
