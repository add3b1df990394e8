"""What is told of an owner in free prose: other words and other orders for the same fact."""

from __future__ import annotations

from itertools import product

from hypothesis import given
from hypothesis import strategies as st

from palimpsest.streams.guard.names import called_alike
from tests.streams.guard.test_names import NAMES, joined, pairs
from tests.tables import each

ORDERS = """
Mia, Ada's daughter, goes to Oakfield Primary. / My daughter Mia goes to Oakfield Primary.
Leo, my son, was born on August 14th, 2019. / Ada's son Leo was born on 14 August 2019.
Mia, Ada's daughter, swims. / My daughter Mia swims.
My wife, Bea, is a pilot. / Ada's wife Bea is a pilot.
Ada has a daughter, Mia, who studies law in Rome. / My daughter Mia studies law in Rome.
I have a brother called Bob who lives in Rome. / Ada's brother Bob lives in Rome.
Ada has a son who's a nurse. / My son is a nurse.
Ada's wife Bea works as a nurse at St Mary's. / My wife Bea is a nurse at St Mary's.
I have a sister in Oslo. / Ada's sister lives in Oslo.
The rent of Ada is 780 euros. / My rent is €780.
The phone number of Ada is 0660 1234567. / My phone number is 0660 1234567.
The name of Ada's campaign is The Salt Crown. / My campaign is called The Salt Crown.
Bea is Ada's farmhand. / Bea is my farmhand.
I have Bea Rao as my accountant. / Ada's accountant is Bea Rao.
A ThinkPad is Ada's laptop. / My laptop is a ThinkPad.
ada@example.org is my email. / Ada's email is ada@example.org.
Bea Rao supervises me. / Ada is supervised by Bea Rao.
Two juniors are mentored by Ada. / I mentor two juniors.
Rex is my ginger cat. / Ada has a ginger cat called Rex.
For navigation Ada uses Waze. / I use Waze for navigation.
For work Ada writes reports. / I write reports for work.
For money Ada teaches piano. / I teach piano for money.
For a living Ada paints houses. / I paint houses for a living.
For headaches Ada takes aspirin. / I take aspirin for headaches.
For clients Ada uses Slack. / I use Slack for clients.
On trains Ada reads Dune. / The user reads Dune on trains.
On trains Ada drinks tea. / I drink tea on trains.
In bars Ada writes letters. / I write letters in bars.
While coding, Ada drinks mate. / I drink mate while coding.
On night shifts I drink chai. / Ada drinks chai on night shifts.
Reply to Ada in Dutch. / I want replies in Dutch.
Please reply to me in Dutch. / Ada wants replies in Dutch.
Call me on 0161 555 201. / Ada's phone number is 0161 555 201.
Write to Ada at ada@example.org. / My email is ada@example.org.
A lesson with Ada costs 40 euros. / I charge €40 a lesson.
A lesson with Ada costs €40. / I charge 40 euros a lesson.
64 kg is Ada's weight. / I weigh 64 kg.
20417 is my student number. / Ada's student number is 20417.
I have to hand in my thesis by 3 March. / My thesis is due on 3 March.
Ada has to hand in her thesis by 3 March. / My thesis is due on 3 March.
"""
WORDS = """
My blood group is O-negative. / Ada's blood type is O negative.
I love playing video games. / Ada loves to play video games.
I like reading books about travel. / Ada likes to read books about travel.
My membership no. is 4471. / Ada's membership number is 4471.
My membership no is 4471. / Ada's membership number is 4471.
Ada is a type 2 diabetic. / I have type 2 diabetes.
I am a book editor. / Ada is a book editor.
Ada is a record producer. / I am a record producer.
Ada is blood type O neg. / My blood type is O negative.
Ada is a native Welsh speaker. / My first language is Welsh.
I have Welsh as my mother tongue. / Ada is a native speaker of Welsh.
My thesis deadline is 3 March. / Ada's thesis is due on 3 March.
Ada's deadline for the tax return is 31 Jan. / My tax return is due January 31st.
My passport runs out in November 2027. / Ada's passport is valid until Nov 2027.
Ada's visa expires on 3 May. / My visa is valid until 3 May.
My price for a tuning is £75. / Ada charges 75 pounds for a tuning.
My fee for a standard piano tuning is £75. / A standard piano tuning by Ada is £75.
A first consultation with Ada costs €90. / I charge 90 euros for a first consultation.
Ada reports to Bea. / My line manager is Bea.
Ada's languages are Dutch, French and Greek. / I speak French, Dutch and Greek.
Ada has her account at N26. / My bank is N26.
I've got mild tinnitus in my left ear. / Ada suffers from mild tinnitus in her left ear.
I've got choir rehearsal on Thursdays. / Ada has choir rehearsal every Thursday.
The user is type 2 diabetic. / I have type 2 diabetes.
Ada uses a MacBook Air. / My laptop is a MacBook Air.
Ada has a Samsung Galaxy A54. / My phone is a Galaxy A54.
I use a Google Pixel 7a. / Ada has a Pixel 7a phone.
Ada is off on Fridays. / I take Fridays off.
Ada has Fridays off. / I take Fridays off.
Ada is a coach of the under-15 team. / I coach the under-15 team.
Ada can't stand coriander. / I hate coriander.
I can't bear mushrooms. / Ada hates mushrooms.
Ada can be reached on 0161 555 201. / My phone number is 0161 555 201.
Ada can be emailed at ada@example.org. / My email is ada@example.org.
I rent from Mr Keller. / Ada's landlord is Mr Keller.
Ada belongs to the Easton Society. / I'm a member of the Easton Society.
Ada earns her living as a freelance photographer. / I'm a freelance photographer.
Ada keeps six hens. / I have six hens.
Ada rises at dawn. / I get up at dawn.
Ada rises at six. / I get up at six.
Ada rises at half past five. / I get up at 5:30.
Ada holds a degree in law. / I have a degree in law.
Ada received a PhD in 2011. / I got a PhD in 2011.
Ada relocated to Rome in 2019. / I moved to Rome in 2019.
I ride a bike to work. / Ada goes to work by bike.
Ada bikes to work. / I cycle to work.
Ada was brought up on a farm. / I was raised on a farm.
I save money for a boat. / Ada is putting money aside for a boat.
I'm in charge of billing. / Ada is responsible for billing.
Ada is teetotal. / I don't drink alcohol.
Ada is a graduate of the Glasgow School of Art. / I graduated from the Glasgow School of Art.
Ada has an interest in maps. / I'm interested in maps.
User comes from Lebanon. / I am from Lebanon.
User uses Stripe for payments. / I use Stripe for payments.
My sessions start at 7 pm. / Ada's sessions start at 7 pm.
My shift lasts seven days. / Ada's shift lasts seven days.
I spent my childhood in Rome. / Ada spent her childhood in Rome.
My sister is scared of dogs. / Ada's sister has a fear of dogs.
My son Leo has a peanut allergy. / Ada's son Leo is allergic to peanuts.
I must hand in my thesis by 3 March. / Ada's thesis deadline is 3 March.
Ada has to submit her tax return by January 31. / My tax return has to be in by 31 January.
I use a Pixel 7a as my phone. / Ada has a Pixel 7a phone.
Ada holds a passport that expires in Nov 2027. / My passport runs out in November 2027.
Ada suffers from mild tinnitus in the left ear. / I have mild tinnitus in my left ear.
Ada owns a ginger cat called Rex. / I have a ginger cat called Rex.
I have choir rehearsal on Thursdays. / Ada's choir rehearsal is every Thursday.
My account number with Monzo is 4471. / Ada's Monzo account number is 4471.
My birthday is 3 May 1991. / Ada was born on 3 May 1991.
My number is 0161 555 201. / Ada's phone number is 0161 555 201.
Ada drives herself to work. / I go to work by car.
Ada works night shifts at a clinic. / I work nights at a clinic.
Bea Rao is Ada's vet. / My vet is Bea Rao.
"""
OTHER_ORDERS = """
Mia, Ada's daughter, goes to school. / Ada's daughter goes to school.
Mia, Ada's daughter, goes to school. / Ada's son Mia goes to school.
Mia, Bob's daughter, goes to school. / Ada's daughter Mia goes to school.
Mia, Ada's daughter and Bob's wife, sings. / Ada's daughter Mia sings.
She, Ada's daughter, sings. / Ada's daughter She sings.
Mia, Ada's dog, and Bob sing. / Ada's dog Mia and Bob sing.
Mia, Ada's daughter, not Bob, sings. / Ada's daughter Mia sings.
My wife, Bea, and Bob sing. / Ada's wife Bea and Bob sing.
My wife, Bea thinks, sings. / Ada's wife Bea thinks sings.
Ada has a daughter, Mia, who studies law. / Ada's daughter Mia studied law.
Ada has a daughter, Mia, who studies law. / Ada's daughter studies law.
Ada has a daughter, Mia, who studies law. / Ada studies law.
Ada had a daughter, Mia, who studies law. / Ada's daughter Mia studies law.
Ada has no brother who sings. / Ada's brother sings.
Ada has a brother who was a nurse. / Ada's brother is a nurse.
Ada has a boss who has a boss who sings. / Ada's boss has a boss.
Ada's wife Bea works as a nurse at a hospital. / Ada works as a nurse at a hospital.
Ada's wife Bea works as a nurse at a hospital. / Ada's wife Bea is a doctor at a hospital.
I have a sister in Oslo. / Ada's brother lives in Oslo.
I have a sister in Oslo. / Ada's sister works in Oslo.
I have a sister in May. / Ada's sister lives in May.
I had a sister in Oslo. / Ada's sister lives in Oslo.
I have a hotel in Oslo. / Ada's hotel lives in Oslo.
The picture of Ada is old. / Ada's picture is old.
The rent of Bob is 780 euros. / Ada's rent is 780 euros.
The rent of Ada was 780 euros. / Ada's rent is 780 euros.
The wife of Ada's boss is Bea. / Ada's wife is Bea.
The name of Ada's dog is long. / Ada's dog is called Long.
The name of Bob's dog is Rex. / Ada's dog is called Rex.
Bea is Ada's farmhand. / Ada's farmhand is Bea.
Bea is Ada's farmhand. / Bob is Ada's farmhand.
Bea is Ada's farmhand. / Bea is Bob's farmhand.
Bea was Ada's farmhand. / Bea is my farmhand.
Bea is not Ada's farmhand. / Bea is my farmhand.
Today is Ada's birthday. / Ada's birthday is today.
That is Ada's car. / That is my van.
She is Ada's farmhand. / She is my farmhand.
Everybody is Ada's friend. / Everybody is my friend.
Ada has Bea Rao as an assistant. / Ada's accountant is Bea Rao.
Ada wants Bea Rao as her accountant. / Ada's accountant is Bea Rao.
A ThinkPad is Bob's laptop. / Ada's laptop is a ThinkPad.
A ThinkPad was Ada's laptop. / Ada's laptop is a ThinkPad.
A ThinkPad is Ada's old laptop. / Ada's laptop is a ThinkPad.
bob@example.org is my email. / Ada's email is ada@example.org.
Bea Rao supervises Ada. / Ada supervises Bea Rao.
Bea Rao supervised Ada. / Ada is supervised by Bea Rao.
Bea Rao supervises Ada. / Bob is supervised by Bea Rao.
Somebody supervises Ada. / Ada is supervised by Somebody Rao.
He supervises me. / Ada is supervised by he.
Two juniors are mentored by Ada. / Ada mentors three juniors.
Two juniors are mentored by Ada. / Two juniors mentor Ada.
Two juniors were mentored by Ada. / Ada mentors two juniors.
All juniors are not mentored by Ada. / Ada mentors all juniors.
No juniors are mentored by Ada. / Ada mentors juniors.
The mural is painted by Ada. / Ada paints the mural.
Rex is my ginger cat. / Ada has a black cat called Rex.
Rex is my ginger cat. / Ada has a cat called Rex.
For navigation Ada uses Waze. / Ada uses Waze.
For navigation Ada uses Waze. / Ada uses navigation for Waze.
For navigation Bob uses Waze. / Ada uses Waze for navigation.
For navigation Ada and Bob use Waze. / Ada uses Waze for navigation.
For navigation Ada used Waze. / Ada uses Waze for navigation.
For navigation Ada never uses Waze. / Ada uses Waze for navigation.
For navigation Ada uses Waze and Maps. / Ada uses Waze and Maps for navigation.
For her Ada buys books about cats. / Ada buys books about cats for her.
On trains Ada writes books. / I write books on trains.
On trains Ada buys books. / I buy books on trains.
For kids Ada writes books. / I write books for kids.
For children Ada buys toys. / I buy toys for children.
For adults Ada writes books. / I write books for adults.
For men Ada uses perfume. / I use perfume for men.
For dogs Ada uses shampoo. / I use shampoo for dogs.
For toddlers Ada uses sunscreen. / I use sunscreen for toddlers.
For small dogs Ada uses shampoo. / I use shampoo for small dogs.
In dry weather Ada paints fields. / I paint fields in dry weather.
For good Ada uses Vim. / I use Vim for good.
At best Ada drinks beer. / I drink beer at best.
With time Ada uses Vim. / I use Vim with time.
On paper Ada works. / Ada works on paper.
On paper Ada teaches maths. / Ada teaches maths on paper.
In fact Ada uses Waze. / Ada uses Waze in fact.
In the film Ada likes Bob. / Ada likes Bob in the film.
Without Bob Ada drinks tea. / Ada drinks without Bob tea.
While driving, Ada thinks Bob sings. / Ada thinks Bob sings while driving.
Reply to Ada in Dutch. / Ada speaks Dutch.
Reply to Bob in Dutch. / Ada wants replies in Dutch.
Reply to Ada in May. / Ada wants replies in June.
Don't reply to Ada in Dutch. / Ada wants replies in Dutch.
Call me on Monday. / Ada's phone number is Monday.
Call me at 9 30. / Ada's phone number is 9 30.
Call Bob on 0161 555 201. / Ada's phone number is 0161 555 201.
Call Ada's boss on 0161 555 201. / Ada's phone number is 0161 555 201.
A lesson with Ada costs 40 euros. / I charge €45 a lesson.
A lesson with Ada costs €40. / I charge €45 a lesson.
A lesson with Bob costs 40 euros. / I charge €40 a lesson.
A lesson for Ada costs 40 euros. / I charge €40 a lesson.
A lesson with Ada cost 40 euros. / I charge €40 a lesson.
64 kg is Ada's target. / I weigh 64 kg.
64 kg is Ada's goal. / Ada's weight is 64 kg.
20417 is my student number. / Ada's account number is 20417.
20417 was my student number. / Ada's student number is 20417.
"""
OTHER_WORDS = """
Ada's file is 11/2027. / Ada's file is November 2027.
Ada has 5g at home. / Ada has 5 g at home.
Ada has a son in Rehab. / Ada's son lives in Rehab.
Ada has a sister in Nursing. / Ada's sister lives in Nursing.
Ada has a brother in Tech. / Ada's brother lives in Tech.
Ada has a sister in Real Estate. / Ada's sister lives in Real Estate.
Ada has an aunt in Intensive Care. / Ada's aunt lives in Intensive Care.
Ada has a son in Scouts. / Ada's son lives in Scouts.
Ada has a daughter in College. / Ada's daughter lives in College.
Ada has a sister in Christ. / Ada's sister lives in Christ.
Ada rises at the end. / I get up at the end.
Ada rises at work. / I get up at work.
Ada has a brother in Prison. / Ada's brother lives in Prison.
Ada has a friend in Jesus. / Ada's friend lives in Jesus.
Ada has a cousin in IT. / Ada's cousin lives in IT.
Ada has her account at Netflix. / Ada's bank is Netflix.
I have my account with Google. / My bank is Google.
Ada has an interest in the firm. / Ada is interested in the firm.
Ada has an interest in Google. / Ada is interested in Google.
Ada is in charge of the delay. / Ada is responsible for the delay.
Ada was brought up on charges. / Ada was raised on charges.
Ada was brought up in court. / Ada was raised in court.
Ada belongs to Bob. / Ada is a member of Bob.
Ada's number is 12345678. / Ada's phone number is 12345678.
Ada's baby must be in by 3 May. / Ada's baby is due on 3 May.
A flat with Ada costs $400. / I charge $400 for a flat.
A phone plan with Ada costs $40. / I charge $40 for a phone plan.
A trip with Ada costs $400. / I charge $400 for a trip.
A ticket by Ada costs $40. / I charge $40 for a ticket.
A dress by Ada costs $40. / I charge $40 for a dress.
A portrait by Ada costs $400. / I charge $400 for a portrait.
My fee for a visa is $40. / Ada charges $40 for a visa.
My price for a house is $400. / Ada charges $400 for a house.
My fee for a gym is $40. / Ada charges $40 for a gym.
A book by Ada costs 40 euros. / Ada charges 40 euros for a book.
A letter from Ada is 40 pages. / Ada charges 40 pages for a letter.
My blood group is O-negative. / Ada's blood type is O positive.
My blood group is O-negative. / Ada's blood type is AB negative.
My blood group was O-negative. / Ada's blood type is O negative.
Ada is a native Welsh speaker. / Ada speaks Welsh.
Ada is a Welsh speaker. / Ada's first language is Welsh.
Ada is a fluent Welsh speaker. / Ada's first language is Welsh.
Ada's second language is Welsh. / Ada's first language is Welsh.
Ada has Welsh as her major. / Ada's first language is Welsh.
My thesis deadline is 3 March. / Ada's thesis is due on 13 March.
My thesis deadline is 3 March. / Ada's essay is due on 3 March.
My thesis deadline was 3 March. / Ada's thesis is due on 3 March.
My thesis deadline is in March. / Ada's thesis is due in May.
Ada's deadline is 3 March. / Ada's thesis is due on 3 March.
My passport runs out in November 2027. / Ada's passport expires in November 2026.
My passport runs out in November 2027. / Ada's visa expires in November 2027.
My passport expired in November 2027. / Ada's passport expires in November 2027.
My passport is valid from 3 May. / Ada's passport is valid until 3 May.
My passport is not valid until 3 May. / Ada's passport is valid until 3 May.
My milk runs out in May. / Ada's milk expires in May.
My price for a tuning is £75. / Ada charges £85 for a tuning.
My price for a tuning is £75. / Ada charges £75 for a repair.
My price for a tuning is £75. / Ada pays £75 for a tuning.
Ada reports to Bea. / Bea reports to Ada.
Ada reports to Bea. / Ada's office manager is Bea.
Ada reports to Bea. / Ada's manager is Bob.
Ada reports to Bea. / Ada's boss is Bea.
Ada reports on Bea. / Ada's manager is Bea.
Ada's languages are French and Dutch. / Ada speaks French.
Ada has her account at N26. / Ada's bank is KBC.
Ada has an account with Netflix. / Ada's bank is Netflix.
Ada has his account at N26. / I have your account at N26.
I've got mild tinnitus in my left ear. / Ada has mild tinnitus in her right ear.
I've got mild tinnitus in my left ear. / Ada has tinnitus in her left ear.
I've got to rehearse on Thursdays. / Ada has to rehearse every Thursday morning.
I've got better on Thursdays. / Ada has better on Thursdays.
I've got lost. / Ada has lost.
Ada suffers from mild tinnitus. / Ada suffers from severe tinnitus.
Ada suffers from mild Bob. / Ada has mild Bob.
The user is type 2 diabetic. / I have type 1 diabetes.
The user is type 2 diabetic. / I have diabetes.
Ada uses a MacBook Air. / Ada's laptop is a MacBook Pro.
Ada uses a MacBook Air case. / Ada's laptop is a MacBook Air.
Ada uses Bob's MacBook Air. / Ada's laptop is a MacBook Air.
Ada used a MacBook Air. / Ada's laptop is a MacBook Air.
Ada's old laptop is a MacBook Air. / Ada has a MacBook Air.
Ada has a Samsung Galaxy A54. / Ada has a Samsung Galaxy A34.
Ada has a Samsung Galaxy A54. / Ada has a Samsung Galaxy A54 case.
Ada has a Samsung TV. / Ada has a TV.
Ada has a Google Home. / Ada has a Home.
Ada uses a Google Pixel 7a. / Ada uses a Google Pixel 7.
Ada uses a Google Pixel 7a as a camera. / Ada's phone is a Google Pixel 7a.
Ada is off on Friday. / Ada takes Fridays off.
Ada is off on Fridays. / Ada takes Mondays off.
Ada took Fridays off. / Ada takes Fridays off.
Ada has Fridays free. / Ada takes Fridays off.
Ada can't stand coriander. / Ada hates parsley.
Ada can't stand Bob. / Ada hates Bob.
Ada can't stand up. / Ada hates up.
Ada can't stand alone. / Ada hates alone.
Ada can stand coriander. / Ada hates coriander.
Ada couldn't stand coriander. / Ada hates coriander.
Ada's son can't stand coriander. / Ada hates coriander.
Ada can't stand coriander. / Ada loves coriander.
Ada can't stand coriander. / Ada is allergic to coriander.
Ada can be reached on 0161 555 201. / Ada's phone number is 0161 555 210.
Ada can be reached on 0161 555 201. / Ada's mobile number is 0161 555 201.
Ada can be reached on Mondays. / Ada's phone number is on Mondays.
Ada can be reached at 5 pm. / Ada's phone number is 5 pm.
Ada can't be reached on 0161 555 201. / Ada's phone number is 0161 555 201.
Ada could be reached on 0161 555 201. / Ada's phone number is 0161 555 201.
I rent from Avis. / Ada's landlord is Avis.
I rent to Mr Keller. / Ada's landlord is Mr Keller.
I rented from Mr Keller. / Ada's landlord is Mr Keller.
Ada belongs to the Easton Society. / Ada founded the Easton Society.
Ada is a former member of the Easton Society. / Ada belongs to the Easton Society.
Ada earns her living as a singer. / Ada is a singer.
Ada earned her living as a nurse. / Ada is a nurse.
Ada keeps six hens. / Ada has seven hens.
Ada keeps six books. / Ada has six books.
Ada kept six hens. / Ada has six hens.
Ada rises at six. / Ada gets up at seven.
Ada holds a degree in law. / Ada has a degree in music.
Ada holds a baby. / Ada has a baby.
Ada received a letter in 2011. / Ada got a letter in 2011.
Ada received a PhD in 2011. / Ada got a PhD in 2012.
Ada relocated to Rome. / Ada moved from Rome.
Ada relocated the shop to Rome. / Ada moved to Rome.
I ride my bike to school. / Ada cycles to work.
I rode my bike to work. / Ada cycles to work.
Ada was brought up on a farm. / Ada grew up on a farm.
Ada was brought up in the meeting. / Ada was born in the meeting.
I save a boat. / Ada is saving for a boat.
I saved money for a boat. / Ada is saving for a boat.
I save seats for a friend. / Ada is saving for a friend.
Ada is in charge of billing. / Ada is responsible for invoices.
Ada is teetotal. / Ada doesn't drink beer.
Ada was teetotal. / Ada doesn't drink alcohol.
Ada is a graduate of the Glasgow School of Art. / Ada works at the Glasgow School of Art.
Ada has no interest in maps. / Ada is interested in maps.
Ada has an interest in a bakery. / Ada is a baker.
User uses cases fail. / I use cases fail.
User reads Monday. / I read Monday.
User comes in peace. / I come in peace.
My sessions start at 7 pm. / Ada's sessions end at 7 pm.
My shift lasts seven days. / Ada's shift lasts six days.
I spent my childhood in Rome. / Ada spent her holidays in Rome.
I spent my childhood in Rome. / Ada grew up in Rome.
I see Bea in my garden. / Ada sees Bea in her garden.
My sister is scared of dogs. / Ada's sister is scared of cats.
My sister is scared of dogs. / Ada's brother is afraid of dogs.
My sister is scared of dogs. / Ada is afraid of dogs.
My son Leo has a peanut allergy. / Ada's son Max is allergic to peanuts.
My son Leo has a peanut allergy. / Ada is allergic to peanuts.
My dog is scared of cats. / Ada's dog is scared of birds.
I must hand in my thesis by 3 March. / Ada's thesis is due on 13 March.
I must hand in her thesis by 3 March. / Ada's thesis is due on 3 March.
Ada must hand in my thesis by 3 March. / Ada's thesis is due on 3 March.
My sister must be in by 3 March. / Ada's sister is due on 3 March.
I like cooking apples in pies. / Ada likes to cook apples in pies.
My phone no longer works. / Ada's phone number longer works.
The user must hand in their thesis by 3 March. / I must hand in my thesis by 3 March.
I must hand in my thesis by 3 pm. / Ada's thesis is due on 3 pm.
I handed in my thesis by 3 March. / Ada's thesis is due on 3 March.
I must hand in your thesis by 3 March. / Ada's thesis is due on 3 March.
Ada's tax return was due by 3 March. / Ada's tax return is due on 3 March.
I use a Pixel 7a as my webcam. / Ada's phone is a Pixel 7a.
Ada lost a passport that expires in May. / Ada's passport expires in May.
Ada has mild tinnitus in the left ear. / Ada has mild tinnitus in the right ear.
Ada owns a china cat called Rex. / Ada has a china dog called Rex.
Ada owns a cat hotel called Rex. / Ada has a cat hotel called Rex.
I have no rehearsal on Thursdays. / Ada's rehearsal is on Thursdays.
My account number with Monzo is 4471. / Ada's Barclays account number is 4471.
My birthday is 3 May 2027. / Ada was born on 3 May 2027.
My birthday is 3 May. / Ada was born on 3 May 1991.
My number is 0161 555 201. / Ada's mobile number is 0161 555 201.
My number is 7. / Ada's phone number is 7.
Ada drives Bob to work. / Ada goes to work by car.
Ada drives a van to work. / Ada goes to work by car.
Ada works night shifts. / Ada works the day shift.
Ada walks to work. / Ada goes to work by car.
"""


@each(("one", "other"), pairs(ORDERS + WORDS))
def test_what_is_told_otherwise_is_one(one: str, other: str) -> None:
    assert joined(one, other, NAMES)


@each(("one", "other"), pairs(OTHER_ORDERS + OTHER_WORDS))
def test_what_says_another_thing_stays_apart(one: str, other: str) -> None:
    assert not joined(one, other, NAMES)


def test_of_an_owner_without_names_nothing_is_read_otherwise() -> None:
    assert [pair for pair in pairs(ORDERS + WORDS) if joined(*pair, ())] == []


BEGINS = ("Mia, Ada's daughter, ", "My wife, Bea, ", "The rent of Ada is ", "Bea is my ", "Ada ")
ENDS = (
    "has a son who is ",
    "accountant",
    "can't stand fish",
    "is a nurse at a school",
    "lives.",
    "",
)


@given(st.sampled_from([*product(BEGINS, ENDS)]), st.text(max_size=20))
def test_what_is_told_in_one_way_is_told_so_once(parts: tuple[str, str], more: str) -> None:
    for text in ("".join(parts), "".join(parts) + more, more + "".join(parts)):
        once = called_alike(text, NAMES)
        assert once is None or called_alike(once, NAMES) == once
