"""An owner's times of day, rates and sums make no difference in how they are written."""

from __future__ import annotations

from tests.streams.guard.test_names import NAMES, joined, pairs
from tests.tables import each

SAME = """
Ada's stand-up is at half past nine. / My stand-up is at 9:30.
Ada leaves at a quarter past eight. / I leave at 8:15.
Ada goes to bed at eleven. / I go to bed at 11.
Ada goes to bed at 11 o'clock. / I go to bed at eleven o'clock.
Ada swims at six on Mondays. / I swim at 6 on Mondays.
Ada swims at 6:00 on Mondays. / I swim at 6 every Monday.
Ada plays padel at 19:30. / I play padel at 7:30 pm.
Ada's lesson is at 17:00. / My lesson is at 5 pm.
Ada gets up at 5 in the morning. / I get up at 5 am.
Ada gets up at five in the morning. / I get up at 5:00 AM.
Ada eats at 7:15 in the evening. / I eat at 7:15 pm.
Ada works at the shop every Saturday morning. / On Saturday mornings I work at the shop.
Ada swims every weekday evening. / I swim on weekday evenings.
Ada pays £45 per hour. / I pay 45 pounds an hour.
Ada's rent is 950 euros/month. / My rent is €950 a month.
Ada's rent is 950 euros monthly. / My rent is €950 per month.
Ada charges 65 dollars per lesson. / I charge $65 a lesson.
Ada takes 500mg of metformin 2x/day. / I take 500 mg of metformin twice daily.
Ada takes iron 1x a day. / I take iron once a day.
Ada's proposal is due by 31 Jan. / My proposal is due by January 31st.
Ada's exam is on Sept. 3. / My exam is on 3 September.
Ada's membership no. is 4471. / My membership number is 4471.
Ada studies at Plymouth uni. / I study at Plymouth University.
Ada works as a physio. / I'm a physiotherapist.
Ada works at Marks & Spencer. / I work at Marks and Spencer.
My passport expires 11/2027. / Ada's passport expires in November 2027.
Ada's visa expires on 2027-08-14. / My visa expires on August 14th, 2027.
Ada was born on 14/08/1990. / I was born on 14 August 1990.
Ada was born on 14.08.1990. / I was born on 14 August 1990.
Ada gets up at 5 a.m. on weekdays. / I get up at 5 am on weekdays.
"""
DIFFERENT = """
Ada's stand-up is at half past nine. / Ada's stand-up is at 9:15.
Ada's stand-up is at half nine. / Ada's stand-up is at 9:30.
Ada leaves at a quarter past eight. / Ada leaves at a quarter to eight.
Ada teaches at six schools. / Ada teaches at 6.
Ada arrived at one of six schools. / Ada arrived at 1 of six schools.
Ada goes to bed at eleven. / Ada goes to bed at 11 am.
Ada swims at 6:00. / Ada swims at 6 pm.
Ada swims at 6:00. / Ada swims at 16:00.
Ada plays padel at 19:30. / Ada plays padel at 9:30 pm.
Ada plays padel at 19:30. / Ada plays padel at 7:30 am.
Ada plays padel at 19:30. / Ada plays padel at 7:30.
Ada gets up at 5 in the morning. / Ada gets up at 5 in the afternoon.
Ada gets up at 5 in the morning. / Ada gets up at 5 pm.
Ada gets up at 12 in the morning. / Ada gets up at 12 am.
Ada sleeps at 4 in the evening class. / Ada sleeps at 4 pm.
Ada works every Saturday morning. / Ada works on Saturday morning.
Ada works every Saturday morning. / Ada works on Saturday evenings.
Ada works every Saturday morning. / Ada works on Saturdays.
Ada doesn't work every Saturday morning. / Ada doesn't work on Saturday mornings.
Ada works less every Monday morning. / Ada works less on Monday mornings.
Ada works every weekday evening. / Ada works on weekend evenings.
Ada pays £45 per hour. / Ada pays £45 per day.
Ada pays 45 pounds. / Ada pays 45 lbs.
Ada lost 45 pounds. / Ada lost £45.
Ada weighs 45 pounds. / Ada weighs £45.
Ada spends 45 pounds of flour. / Ada spends £45 of flour.
Ada's rent is 950 Canadian dollars. / Ada's rent is $950.
Ada's rent is 950 dollars. / Ada's rent is €950.
Ada's rent is 950 euros/month. / Ada's rent is 950 euros/week.
Ada's rent is 950 euros monthly. / Ada's rent is 950 euros weekly.
Ada takes iron 2x/day. / Ada takes iron 2x/week.
Ada takes iron 2x/day. / Ada takes iron 3 times a day.
Ada takes 500mg of metformin. / Ada takes 500 g of metformin.
Ada takes 500mg of metformin. / Ada takes 50 mg of metformin.
Ada's proposal is due by 31 Jan. / Ada's proposal is due by 31 July.
Ada's proposal is due by 3 Mar. / Ada's proposal is due by 3 May.
Ada's proposal is due by 31 Jan. / Ada's proposal is due after 31 January.
Ada's exam is on 3 Sept. / Ada's exam is on 30 September.
Ada has no. / Ada has number.
Ada's answer is no. / Ada's answer is number.
Ada studies at Plymouth uni. / Ada studies at Plymouth.
Ada works as a physio. / Ada works as a physicist.
Ada was born on 04/05/1990. / Ada was born on 4 May 1990.
Ada was born on 04/05/1990. / Ada was born on April 5, 1990.
Ada was born on 14/08/1990. / Ada was born on 14 August 1991.
Ada uses version 2027-08-14. / Ada uses version 14.
Ada gets up at 5 a.m. on weekdays. / Ada gets up at 5 pm on weekdays.
"""


@each(("one", "other"), pairs(SAME))
def test_a_time_or_a_sum_is_one_however_it_is_written(one: str, other: str) -> None:
    assert joined(one, other, NAMES)


@each(("one", "other"), pairs(DIFFERENT))
def test_another_time_or_sum_stays_apart(one: str, other: str) -> None:
    assert not joined(one, other, NAMES)
