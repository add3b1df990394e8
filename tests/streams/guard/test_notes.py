"""A note that leaves out its subject is read as a sentence about its owner, or as it is."""

from __future__ import annotations

from palimpsest.streams.guard.names import called_alike
from tests.streams.guard.test_names import NAMES, joined, pairs
from tests.tables import each

SAME = """
Accountant: Bea Rao / Bea Rao is my accountant.
accountant: Bea Rao. / Ada's accountant is Bea Rao.
Home airport: Porto / My home airport is Porto.
Phone: Pixel 7a / Ada's phone is a Pixel 7a.
Phone: 0660 1234567 / My phone number is 0660 1234567.
laptop: ThinkPad / My laptop is a ThinkPad.
hourly rate: €80 / Ada's hourly rate is 80 euros.
email: ada@example.org / My email is ada@example.org.
GP: Dr Weber / My GP is Dr Weber.
Boss: Bea / Bea is Ada's boss.
Birthday: 3 May / Ada was born on 3 May.
Home: Rome / My home is in Rome.
Job: nurse / I work as a nurse.
Occupation: piano teacher / Ada is a piano teacher.
Group meeting: Tuesdays at 10 / My group meeting is every Tuesday at 10.
Job: nurse, Haukeland Hospital / I work as a nurse at Haukeland Hospital.
Job: nurse at Haukeland Hospital / I'm a nurse at Haukeland Hospital.
Languages: Dutch, French, Greek / I speak Greek, French and Dutch.
Languages: Dutch and French / Ada speaks French and Dutch.
Day off: Monday / Monday is my day off.
Car: Ford Fiesta (2012) / My car is a 2012 Ford Fiesta.
Work van: Ford Transit (2017) / Ada's work van is a Ford Transit from 2017.
Payment terms: 14 days / My payment terms are 14 days.
Kids: two / I have two kids.
Runs twice a week / I run twice a week.
Takes two tablets a day / I take two tablets a day.
Supports Arsenal / I support Arsenal.
Kids: 2 / Ada has two children.
Sisters: three / I have 3 sisters.
Older brothers: 2. / Ada has two older brothers.
Son: 5 / My son is 5.
Pet: ginger cat, Rex / Rex is my ginger cat.
Dog: Rex, a greyhound / I have a greyhound called Rex.
Allergies: wasp stings / I'm allergic to wasp stings.
Mobile: 07700 900461 / My mobile number is 07700 900461.
Allergic to nuts / I'm allergic to nuts.
Married to Bea. / Ada is married to Bea.
Born in Rome / I was born in Rome.
Vegetarian / I am a vegetarian.
Lactose intolerant. / Ada has lactose intolerance.
Doesn't eat meat / I do not eat meat.
husband Andreu is a dentist / My husband Andreu is a dentist.
mum lives in York / Ada's mum lives in York.
passport expires 14 August 2027 / My passport expires on 14 August 2027.
blood type O negative / My blood type is O negative.
Lactose intolerance / I'm lactose intolerant.
Peanut allergy. / I'm allergic to peanuts.
consultant at Brightwell / I work at Brightwell as a consultant.
Currently learning German / Ada is learning German.
Training for a half marathon / I'm training for a half marathon.
Saving up for a boat / I am saving for a boat.
Graduated from Leuven in 2013 / I graduated from Leuven in 2013.
"""
DIFFERENT = """
Note: Rex / Ada's note is Rex.
todo: dentist / Ada's todo is dentist.
Paris: stays at the Ibis / Ada's Paris is stays at the Ibis.
Bob: nurse / Ada is a nurse.
Bob: Rome / Ada's home is in Rome.
Bob's phone: Pixel 7a / Ada's phone is a Pixel 7a.
My phone: Pixel 7a / Bob's phone is a Pixel 7a.
Old phone: Pixel 7a / Ada's phone is a Pixel 7a.
Work phone: Pixel 7a / Ada's phone is a Pixel 7a.
Phone: off / Ada's phone is off.
Phone: call Bea / Ada's phone is Bea.
Job: stressful / Ada's job is stressful for Bob.
Job: stressful / Ada is stressful.
Job: nurse / Ada's mother is a nurse.
Job: nurse / Ada was a nurse.
Job: nurse, Rome / Ada is a nurse.
Job: nurse, Haukeland Hospital / Ada is a nurse at Bergen Hospital.
Job: nurse, part-time / Ada works at part-time as a nurse.
Languages: Dutch, French / Ada speaks Dutch.
Languages: Dutch, some French / Ada speaks Dutch and some French.
Languages: Dutch / Ada speaks Dutch and French.
Kids: two / My kids are two.
Needs a password / I need a password.
Requires an account. / I require an account.
Serves four people / I serve four people.
Holds five litres. / I hold five litres.
Covers two floors / I cover two floors.
Sends an email. / I send an email.
Shows a list of users. / I show a list of users.
Starts a server. / I start a server.
Opens the door. / I open the door.
Creates a backup every night. / I create a backup every night.
Accepts a password. / Ada accepts a password.
Generates a report. / Ada generates a report.
Converts the file. / Ada converts the file.
Runs every hour / I run every hour.
Runs every two minutes. / I run every two minutes.
Kids: 2 / My kids are 2.
Sisters: two / My sisters are two.
Daughters: 4 / My daughters are 4.
Twins: two / My twins are two.
Brothers: 12 / My brothers are 12.
Brothers: 12 / My brothers are 12 years old.
Kids: 2 / Ada has three kids.
Kids: two and a dog / Ada has two kids.
Pet: ginger cat, Rex / Ada has a black cat called Rex.
Pet: ginger cat / Ada has a cat called Ginger.
Dog: Rex, Labrador / Ada has a cat called Rex.
Allergies: none / Ada is allergic to none.
Allergies: wasp stings / Ada is allergic to bee stings.
Mobile: 07700 900461 / Ada's phone number is 07700 900461.
Day off: Monday / Ada's day off is Tuesday.
Off day: Monday / Ada's day off is Monday.
Car: Ford Fiesta (2012) / My car is a 2013 Ford Fiesta.
Car: Ford Fiesta (2012) / My car is a Ford Fiesta.
Car: Ford Fiesta (red) / My car is a red Ford Fiesta.
Monday: dentist / Ada's Monday is dentist.
Dog: Rex / Ada has a dog called Rex.
Dog: Alsatian / Ada has a dog called Alsatian.
Wife: doctor / Ada's wife is a doctor.
Boss: Ada / Ada's boss is Ada.
Home: Rome / Ada lives in Rome.
Home: Rome / Ada's home was in Rome.
Home airport: Porto / Ada's home town is Porto.
Deadline: 4 June / Ada's deadline is 5 June.
Deadline: not 4 June / Ada's deadline is 4 June.
Group meeting: Tuesday / Ada's group meeting is on Tuesdays.
Allergic to nuts / My son is allergic to nuts.
Allergic to nuts is what Bob is / Ada is allergic to nuts.
Not allergic to nuts / Ada is allergic to nuts.
Vegetarian restaurant / Ada is vegetarian.
Vegetarian? / Ada is vegetarian.
Married to Bea / Ada was married to Bea.
Married to Bea / Ada is engaged to Bea.
Doesn't eat meat / Ada eats meat.
Doesn't start on Mondays / Ada doesn't start on Mondays.
Born to run / Ada was born to run.
Sister Mary lives in Rome / My sister Mary lives in Rome.
Father Brown is a priest / My father Brown is a priest.
husband Andreu is a dentist / Bob's husband Andreu is a dentist.
husband Andreu was a dentist / My husband Andreu is a dentist.
passport office expires in May / Ada's passport expires in May.
passport renewal / Ada's passport is renewal.
blood type O negative / My blood type is O positive.
blood type unknown / My blood type is unknown.
Peanut allergy test / I'm allergic to peanuts.
Peanut allergy / My son is allergic to peanuts.
No peanut allergy / I'm allergic to peanuts.
consultant at Brightwell / Ada worked at Brightwell as a consultant.
consultant at Brightwell called / I work at Brightwell as a consultant.
Learning goals for May / I'm learning goals for May.
Learning German is fun / Ada is learning German.
Training for the staff on Monday / I am training for the staff on Monday.
Saving files / I am saving files.
Graduated from Leuven in 2013 / I graduated from Leuven in 2012.
Graduated tax / I graduated tax.
"""


@each(("one", "other"), pairs(SAME))
def test_a_note_is_about_its_owner(one: str, other: str) -> None:
    assert joined(one, other, NAMES)


@each(("one", "other"), pairs(DIFFERENT))
def test_a_text_under_a_heading_or_of_somebody_else_stays_apart(one: str, other: str) -> None:
    assert not joined(one, other, NAMES)


def test_a_note_is_not_read_for_an_owner_who_is_only_called_i() -> None:
    """*I* stands for whoever speaks, so that a note need not be about them."""
    assert {called_alike(one, ("I",)) for one, _ in pairs(SAME)} == {None}
