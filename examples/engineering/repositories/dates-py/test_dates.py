import unittest
from datetime import date

from dates import add_months


class AddMonths(unittest.TestCase):
    def test_over_the_end_of_a_year(self):
        self.assertEqual(add_months(date(2023, 11, 15), 3), date(2024, 2, 15))

    def test_the_example_of_the_issue(self):
        self.assertEqual(add_months(date(2023, 1, 31), 1), date(2023, 2, 28))

    def test_a_month_of_thirty_days(self):
        self.assertEqual(add_months(date(2023, 3, 31), 1), date(2023, 4, 30))

    def test_february_of_a_leap_year(self):
        self.assertEqual(add_months(date(2024, 1, 31), 1), date(2024, 2, 29))
