"""A fact of an owner's possessions, habits and health is one, however an extractor puts it."""

from __future__ import annotations

from palimpsest.streams.guard.names import called_alike
from tests.streams.guard.test_names import NAMES, joined, pairs
from tests.tables import each

SAME = """
Ada's brother is called Wout. / Ada has a brother called Wout.
Ada's brother's name is Wout. / Wout is Ada's brother.
Ada's brother is Wout. / I have a brother, Wout.
My younger sister is called Mia. / Ada has a younger sister named Mia.
Bea is Ada's sister. / My sister is Bea.
Mr. Keller is Ada's neighbour. / Ada's neighbour is Mr. Keller.
Ada's cat is called Tilda. / Ada has a cat called Tilda.
Ada's rabbit's name is Clover. / I have a pet rabbit called Clover.
The user's greyhound is called Skye. / Ada owns a greyhound named Skye.
Ada has a boat named Zora. / I have a boat called Zora.
Ada's two-seater is named Zora. / My two-seater is called Zora.
I have two pet cats. / Ada has two cats.
Ada has a brother called Christian. / Ada's brother is called Christian.
Ada's phone is an iPhone 14. / I have an iPhone 14.
The user has a Pixel 9 phone. / Ada has a Pixel 9.
Ada's laptop is a Dell XPS 13. / The user has a Dell XPS 13 laptop.
My TV is a 65-inch LG. / Ada has a 65-inch LG TV.
Ada banks with Monzo. / My bank is Monzo.
Ada's yoga class is on Tuesdays. / I have a yoga class every Tuesday.
User's dentist appointment is on Friday at 3 pm. / I have a dentist appointment at 3 pm on Friday.
Ada has a dentist's appointment on 4 March. / My dentist appointment is on March 4th.
Ada has a team meeting at 9 am. / My team meeting is at 9:00 AM.
Ada's wedding anniversary is on July 12th. / My wedding anniversary is 12 July.
Ada works as a nurse at Haukeland hospital. / I'm a nurse at Haukeland hospital.
The user works at a nursing home as a nurse. / Ada is a nurse at a nursing home.
Ada is a nurse at St James's. / I work as a nurse at St James's.
Ada has a job at the library in Leeds. / I work at the library in Leeds.
I'm a nurse by profession. / Ada works as a nurse.
Ada is a freelance photographer. / I work as a freelance photographer.
Ada is a law student. / I'm studying law.
Ada is a chemistry student at Kyoto University. / I study chemistry at Kyoto University.
Ada goes for a run every morning. / Every morning I run.
The user goes for a swim on Mondays. / Ada goes swimming every Monday.
Ada goes for a 5 km run every morning. / I run 5km every morning.
Ada eats porridge for breakfast. / For breakfast, Ada has porridge.
Ada takes her tea with milk. / I drink my tea with milk.
The user has his coffee black. / Ada drinks black coffee.
User takes tea with two sugars. / I take my tea with two sugars.
Ada takes metformin twice daily. / I take metformin two times a day.
Ada takes vitamin D daily. / I take vitamin D every day.
Ada is on metformin. / I take metformin.
Ada is on 10 mg of lisinopril. / I take 10 mg of lisinopril.
Ada takes ibuprofen for her back pain. / I take ibuprofen for my back pain.
Ada is asthmatic. / I have asthma.
The user gets migraines. / Ada suffers from migraines.
Ada has a strawberry allergy. / I'm allergic to strawberries.
Ada suffers from a dust allergy. / I'm allergic to dust.
Heights scare Ada. / I'm afraid of heights.
Spiders frighten me. / The user is scared of spiders.
Ada fears the dark. / I'm afraid of the dark.
Ada goes to the gym every Monday and Thursday. / On Mondays and Thursdays I go to the gym.
Every July, Ada goes camping. / I go camping every July.
Three times a week, Ada runs 5 km. / I run 5 km three times a week.
In April Ada is going to Japan. / I'm going to Japan in April.
At church Ada plays the keyboard. / I play the keyboard at church.
The user lives with their aunt in Yaba. / I live in Yaba with my aunt.
Ada is aged 29. / I'm 29 years old.
My son Leo is five. / Ada's son Leo is 5 years old.
Ada is a Broncos fan. / I'm a fan of the Broncos.
Ada is a Brann supporter. / I support Brann.
Christian is Ada's best friend. / Ada's best friend is called Christian.
German is my native language. / Ada's native language is German.
Ada works every weekend. / Ada works at weekends.
Ada works every weekend. / I work on weekends.
Ada cooks dinner every Sunday. / I cook dinner on Sundays.
Ada usually goes hiking every weekend. / I usually go hiking on weekends.
Ada works less on weekends. / I work less at weekends.
Ada doesn't work at weekends. / I don't work on weekends.
Ada doesn't eat any offal. / I don't eat offal.
Ada is a father of two. / The user is the father of two children.
Ada quit smoking in 2019. / User stopped smoking in 2019.
Ada gave up smoking. / The user quit smoking.
Ada sprained her ankle while playing football. / The user sprained an ankle playing football.
The user sprained his ankle. / I sprained my ankle.
I use Zed as my editor. / Ada uses Zed as her editor.
Ada doesn't have a driver's license. / I have no driver's license.
The user does not use any pesticides. / Ada doesn't use pesticides.
Ada would like replies in Dutch. / I want replies in Dutch.
Ada is planning a trip to Iceland. / I plan a trip to Iceland.
Ada's monthly salary is 4,500 euros. / My salary is 4,500 euros a month.
Ada has a budget of 800 euros. / My budget is 800 euros.
User pays 950 euros rent. / Ada pays 950 euros in rent.
Ada has blood type O negative. / My blood type is O negative.
Ada is O negative. / I have O negative blood.
I wear size 38 shoes. / Ada's shoe size is 38.
Ada begins work at 9 am. / User starts work at 9 am.
Ada's exams begin on 10 June. / My exams start on June 10th.
Ada is studying for a master's degree in law. / I'm studying for a master's in law.
User draws on an iPad. / I draw on an iPad.
User studied biology. / I studied biology.
"""

DIFFERENT = """
Ada's brother is called Wout. / Ada has a brother called Bob.
Ada's brother is called Wout. / Ada has a sister called Wout.
Ada's brother is called Wout. / Ada had a brother called Wout.
Ada's brother was called Wout. / Ada has a brother called Wout.
Ada's brother is called Wout. / Ada has a half-brother called Wout.
Ada's brother is called Wout. / Ada has a brother and Wout.
Ada's brother is called Wout. / Bob has a brother called Wout.
Ada's brother's dog is called Rex. / Ada has a dog called Rex.
Ada's brother's name is long. / Ada has a brother called Long.
Ada's brother is Christian. / Christian is Ada's brother.
Ada's brother is Christian. / Ada has a brother called Christian.
Ada's husband is Christian. / Christian is Ada's husband.
Ada's husband is Christian. / Ada's husband is called Christian.
Ada's uncle is Roman. / Ada has an uncle called Roman.
Ada's friend is German. / German is Ada's friend.
Ada's friend is French. / Ada has a friend called French.
Ada's boss is English. / Ada's boss is called English.
Ada's doctor is Welsh. / Welsh is Ada's doctor.
Ada's son is Major. / Ada has a son called Major.
Ada's manager is CEO. / Ada's manager is called CEO.
Ada's best friend is German. / German is Ada's best friend.
Ada's youngest son is Christian. / Christian is Ada's youngest son.
Ada's younger sister is called Mia. / Ada has an older sister called Mia.
Ada's younger sister is called Mia. / Ada has a sister called Mia.
Ada's best friend is Eve. / Ada has a friend called Eve.
Ada's cat is called Tilda. / Ada wants a cat called Tilda.
Ada's cat is called Tilda. / Ada has a cat bed called Tilda.
Ada's dog is Rex. / Ada has a dog called Rex.
Ada's dog is Dalmatian. / Ada has a dog called Dalmatian.
Ada had a pet rabbit called Clover. / Ada has a rabbit called Clover.
Ada has two pet goats. / Ada has two goats.
Ada has two pet cats. / Ada has two cat toys.
Ada owns a greyhound bus. / Ada has a greyhound called Bus.
Ada has a boat named Zora. / Ada has a boat built by Zora.
Ada's phone is an iPhone 14. / Ada has an iPhone 15.
Ada's phone is an iPhone 14. / Ada had an iPhone 14.
Ada's phone is an iPhone 14. / Ada wants an iPhone 14.
Ada's phone is an iPhone 14. / Ada has an iPhone 14 case.
Ada's phone is an iPhone 14. / Ada's old phone is an iPhone 14.
Ada's phone is an iPhone 14. / Ada owns an iPhone 14.
Ada's phone is an iPhone 14. / Ada's work phone is an iPhone 14.
Ada's brother's phone is an iPhone 14. / Ada has an iPhone 14.
Ada's car is a Honda. / Ada has a Honda.
Ada's car is a Honda Civic. / Ada drives a Honda Civic.
Ada's car is a Honda. / Ada has a Honda bike.
Ada's car is a wreck. / Ada has a wreck car.
Ada banks with Monzo. / Ada works at Monzo.
Ada's bank is Monzo. / Ada banks with Barclays.
Ada's bank is closed. / Ada banks with closed.
Ada's sister banks with Monzo. / Ada's bank is Monzo.
Ada's yoga class is on Tuesdays. / Ada has a yoga class on Thursdays.
Ada's yoga class is on Tuesdays. / Ada has yoga classes on Tuesdays.
Ada's yoga class is on Tuesday. / Ada has a yoga class every Tuesday.
Ada's yoga class is on Tuesdays. / Ada teaches a yoga class on Tuesdays.
Ada's yoga class was on Tuesdays. / Ada has a yoga class on Tuesdays.
Ada's exam is on the second floor. / Ada has an exam on the second floor.
Ada has an appointment at 3 pm on Friday. / Ada has an appointment on Friday at 3 am.
Ada has an appointment at 3 pm on Friday. / Ada has an appointment on Monday at 3 pm.
Ada has a dentist's appointment on Friday. / Ada has a doctor's appointment on Friday.
Ada's anniversary is on July 12. / Ada's anniversary is on July 21.
Ada's wedding anniversary is on July 12. / Ada's wedding is on July 12.
Ada works as a nurse at a nursing home. / Ada is a nurse at a hospital.
Ada is a qualified nurse. / Ada works as a qualified nurse.
Ada's sister is a qualified lawyer. / Ada's sister works as a qualified lawyer.
Ada works as a nurse at a nursing home. / Ada is a nurse for a nursing home.
Ada worked as a nurse at a nursing home. / Ada is a nurse at a nursing home.
Ada is a nurse at heart. / Ada works at heart as a nurse.
Ada is a volunteer at a hospital. / Ada works as a volunteer at a hospital.
Ada is a singer at a pub. / Ada works as a singer at a pub.
Ada is employed as a nurse at a hospital. / Ada works as a nurse at a hospital.
Ada has a job at the library. / Ada wants a job at the library.
Ada has a job at the library. / Ada has a job near the library.
Ada has a job interview at the library. / Ada works at the library.
Ada is a retired nurse by profession. / Ada is a nurse.
Ada is a law student. / Ada studied law.
Ada is a law student. / Ada teaches law.
Ada is a law student at Yale University. / Ada studies law.
Ada goes for a run every morning. / Ada goes for a walk every morning.
Ada goes for a run every morning. / Ada runs every evening.
Ada goes for a run every morning. / Ada went for a run every morning.
Ada goes for a 5 km run every day. / Ada runs 6 km every day.
Ada goes for a swim. / Ada goes for a jog.
Ada goes for a drive. / Ada drives.
Ada eats porridge for breakfast. / Ada has porridge for lunch.
Ada eats porridge for breakfast. / Ada makes porridge for breakfast.
Ada eats no porridge for breakfast. / Ada has porridge for breakfast.
For breakfast Ada eats porridge. / Ada eats porridge.
For Bob Ada cooks lunch. / Ada cooks for lunch.
Ada takes her tea with milk. / Ada takes her tea without milk.
Ada takes her tea with milk. / Ada takes her coffee with milk.
Ada takes her tea with milk. / Ada sells her tea with milk.
Ada takes coffee with her. / Ada drinks coffee with her.
Ada takes coffee without asking. / Ada drinks coffee without asking.
Ada has her own coffee machine. / Ada takes her own coffee machine.
Ada drinks black tea. / Ada takes her tea black.
Ada drinks black coffee. / Ada drinks coffee.
Ada takes her coffee black. / Ada makes her coffee black.
Ada takes metformin twice daily. / Ada takes metformin daily.
Ada takes metformin twice daily. / Ada takes metformin twice weekly.
Ada takes metformin daily. / Ada takes metformin every other day.
Ada takes metformin every morning. / Ada takes metformin daily.
Ada reads the news daily. / Ada reads the daily news.
Ada is on metformin. / Ada was on metformin.
Ada is on metformin. / Ada studies metformin.
Ada is on sertraline. / Ada takes fluoxetine.
Ada is on holiday. / Ada takes holiday.
Ada is on the bus. / Ada takes the bus.
Ada takes ibuprofen for her back pain. / Ada takes ibuprofen for her sister.
Ada takes ibuprofen for her mother. / I take ibuprofen for my mother.
Ada takes ibuprofen for his back pain. / Bob takes ibuprofen for his back pain.
Ada is asthmatic. / Ada's son has asthma.
Ada is not asthmatic. / Ada has asthma.
Ada was asthmatic. / Ada has asthma.
Ada was diagnosed with asthma. / Ada has asthma.
Ada gets a migraine. / Ada has migraines.
Ada gets headaches. / Ada has migraines.
Ada has a strawberry allergy. / Ada is allergic to raspberries.
Ada has a bee allergy. / Ada is allergic to bee stings.
Heights scare Ada. / Heights scare Bob.
Heights scare Ada. / Ada scares heights.
Heights don't scare Ada. / Ada is afraid of heights.
Heights scared Ada. / Ada is afraid of heights.
Dogs scare Ada's cat. / Ada is afraid of dogs.
Dogs scare Ada. / Ada is afraid of cats.
Prices scare Ada. / Ada is afraid of prices.
Ada fears God. / Ada is afraid of God.
Ada fears for her life. / Ada is afraid of her life.
Ada goes to the gym every Monday and Thursday. / Ada goes to the gym every Monday.
Ada goes to the gym every Monday and Thursday. / Ada goes to the gym on Monday and Thursday.
Ada goes to the gym on Mondays and Thursdays. / Ada goes to the gym on Mondays and Fridays.
Ada doesn't work every weekend. / Ada doesn't work on weekends.
Ada doesn't work every Monday. / Ada doesn't work on Mondays.
Ada can't train every Monday at 9 am. / Ada can't train on Mondays at 9 am.
Ada isn't free every Monday and Friday. / Ada isn't free on Mondays and Fridays.
Ada refuses to work every weekend. / Ada refuses to work on weekends.
Ada works less every weekend. / Ada works less on weekends.
Every weekend Ada works less. / Ada works less on weekends.
Ada works more every weekend. / Ada works more at weekends.
Ada sleeps later every Monday. / Ada sleeps later on Mondays.
Ada is busier every weekend. / Ada is busier on weekends.
Ada sees fewer friends every weekend. / Ada sees fewer friends on weekends.
Ada runs a longer route every Sunday. / Ada runs a longer route on Sundays.
Ada improves every Monday. / Ada improves on Mondays.
Ada sometimes works every weekend. / Ada sometimes works on weekends.
Ada works almost every weekend. / Ada works almost on weekends.
Ada gave up working every weekend. / Ada gave up working on weekends.
Ada is tired of working every weekend. / Ada is tired of working on weekends.
Ada is unable to train every Monday. / Ada is unable to train on Mondays.
Every July Ada goes camping. / Ada goes camping in July.
Every July Ada goes camping. / Ada goes camping every June.
In April Ada is going to Japan. / Ada is going to Japan in May.
In April Ada is going to Japan. / Ada went to Japan in April.
Ada is travelling to Oxford. / Ada is going to Oxford.
Ada travels to Oxford. / Ada goes to Oxford.
At church Ada plays the keyboard. / Ada plays the keyboard at home.
At work Ada likes music. / Ada likes music at work.
Ada lives with her aunt in Yaba. / Ada's aunt lives in Yaba.
The user lives with their aunt in Yaba. / I live in Yaba with my uncle.
Ada lives with two cats in Yaba. / Ada lives in Yaba with three cats.
Ada lives with her sister. / I live with my sister.
Ada is aged 29. / Ada is aged 30.
Ada's wine is aged 29 years. / Ada is 29 years old.
My son Leo is five. / My son Max is five.
My son Leo is five. / My son Leo is six.
My son is five. / My cat is five years old.
My son is five. / My son is five feet tall.
Ada is a Broncos fan. / Ada supports the Broncos.
Ada is a Broncos fan. / Ada was a fan of the Broncos.
Ada is a Broncos fan. / Ada is no fan of the Broncos.
Ada is a Queen fan. / Ada is a fan of the Queen.
Ada is a fan of Boss. / Ada is a fan of the Boss.
Ada is a Broncos player. / Ada is a fan of the Broncos.
Ada is a father of two. / Ada is a father of three.
Ada is a father of two. / Ada is the father of two sons.
Ada is a mother of two. / Ada is a father of two.
Ada is a grandfather of two. / Ada is a father of two.
Ada is the mother of two sons. / Ada has two sons.
Ada is a father figure. / Ada is father of figure.
Ada quit smoking in 2019. / Ada quit smoking in 2020.
Ada quit smoking. / Ada quit drinking.
Ada quit her job. / Ada stopped her job.
Ada quits smoking. / Ada quit smoking.
Ada wants to quit smoking. / Ada quit smoking.
Ada stopped smoking in the office. / Ada gave up smoking in the office.
Ada stopped to smoke. / Ada stopped smoking.
I quit smoking in January. / Ada quit smoking in January.
I put it there. / Ada put it there.
Ada broke a leg. / Ada broke her leg.
Ada sprained an ankle. / Ada sprained a wrist.
Ada twisted an arm. / Ada twisted her arm.
Ada sprained her left ankle. / Ada sprained an ankle.
Ada saw Bob while playing football. / Ada saw Bob playing football.
Ada sprained her ankle while Bob was playing football. / Ada sprained her ankle playing football.
The user bandaged his ankle. / I bandaged my ankle.
Ada uses Zed as her editor. / Ada uses Vim as her editor.
Ada uses Bob's room as her office. / I use Bob's room as my office.
Ada drives her car. / I drive my car.
Ada keeps his savings. / I keep my savings.
Ada wrote his thesis. / I wrote my thesis.
Ada lost her keys. / I lost my keys.
Ada doesn't have a driver's license. / Ada has a driver's license.
Ada has no car. / Ada doesn't drive a car.
Ada doesn't have any more time. / Ada has no time.
The hotel doesn't have a single room. / The hotel has no single room.
Ada doesn't have a single room. / Ada has no single room.
Ada doesn't like any music. / Ada doesn't like music.
Ada doesn't drink any old wine. / Ada doesn't drink old wine.
Ada doesn't smoke any more. / Ada doesn't smoke.
Ada doesn't have to work. / Ada has no work.
Ada never eats pork. / Ada doesn't eat pork.
Ada avoids pork. / Ada doesn't eat pork.
Ada would like Rome. / Ada would like it in Rome.
Ada would like replies in Dutch. / Ada likes replies in Dutch.
Ada is planning a trip to Iceland. / Ada plans to go to Iceland.
Ada is planning a trip to Iceland. / Ada planned a trip to Iceland.
Ada's monthly salary is 4,500 euros. / Ada's salary is 4,500 euros.
Ada's monthly salary is 4,500 euros. / Ada's annual salary is 4,500 euros.
Ada's monthly salary is 4,500 euros. / Ada earns 4,500 euros a month.
Ada has a budget of 800 euros. / Ada's budget is 900 euros.
Ada had a budget of 800 euros. / Ada's budget is 800 euros.
Ada pays 950 euros in rent. / Ada's rent is 950 euros.
Ada pays 950 euros in rent. / Ada receives 950 euros in rent.
Ada is O negative. / Ada is A negative.
Ada is O negative. / Ada is O positive.
Ada is negative. / Ada's blood type is negative.
I wear size 38 shoes. / Ada's shoe size is 39.
I wear size 38 jeans. / Ada's shoe size is 38.
I wear size 38. / Ada's shoe size is 38.
Ada begins work at 9 am. / Ada ends work at 9 am.
Ada's exams begin on 10 June. / Ada's exams end on 10 June.
Ada begins a book. / Ada starts a book.
Ada is studying for a master's degree in law. / Ada is studying for a bachelor's in law.
Ada has a master's degree in law. / Ada is studying for a master's in law.
User draws were held. / I draw were held.
User starts today. / I start today.
User studied data. / I studied data.
Ada drinks tea in the mornings. / Ada drinks tea every morning.
Ada leaves in the mornings. / Ada leaves in the morning.
Ada can speak Dutch. / Ada speaks Dutch.
Ada gets up at 6. / Ada wakes up at 6.
Ada is married to Bea. / Ada's wife is Bea.
My boss changed my job. / Ada's boss changed her job.
My son broke my arm. / The user's son broke their arm.
My son lives with my father. / The user's son lives with their father.
My wife visits my mother. / The user's wife visits their mother.
My brother owes my sister money. / The user's brother owes their sister money.
My neighbour planted trees in my garden. / The user's neighbour planted trees in their garden.
I take mum to a clinic for my back. / Ada takes mum to a clinic for her back.
I help Eve build my own house. / Ada helps Eve build her own house.
I think Eve lost my job. / Ada thinks Eve lost her job.
I made Eve drink my coffee black. / Ada made Eve drink her coffee black.
I say Eve uses Vim as my editor. / Ada says Eve uses Vim as her editor.
I know a nurse who quit my job. / Ada knows a nurse who quit her job.
Ada met the nurse with her own dog. / I met the nurse with my own dog.
The user teaches kids in their own home. / I teach kids in my own home.
The user says people hurt their knee. / I say people hurt my knee.
Ada has a son. / Ada has one son.
"""


@each(("one", "other"), pairs(SAME))
def test_what_is_said_in_two_ways_is_one(one: str, other: str) -> None:
    assert joined(one, other, NAMES)


@each(("one", "other"), pairs(DIFFERENT))
def test_what_says_another_thing_stays_apart(one: str, other: str) -> None:
    assert not joined(one, other, NAMES)


@each("text", [text for pair in pairs(SAME) for text in pair])
def test_what_is_reworded_is_reworded_no_more(text: str) -> None:
    once = called_alike(text, NAMES)
    assert once is None or called_alike(once, NAMES) == once


def test_of_an_owner_without_names_nothing_is_reworded() -> None:
    """But for what the table of edits has for everybody."""
    assert [pair for pair in pairs(SAME) if joined(*pair, ())] == []
