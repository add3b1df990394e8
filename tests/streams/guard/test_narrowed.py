"""Wordings that a rule once read as one although they differ, and those that it must still join."""

from __future__ import annotations

from tests.streams.guard.test_names import NAMES, joined, pairs
from tests.tables import each

DESCRIBED = """
My brother is Gemini. / Ada has a brother called Gemini.
My uncle is Vicar. / Ada has an uncle called Vicar.
My uncle is Deacon. / Ada has an uncle called Deacon.
My cousin is Imam. / Ada has a cousin called Imam.
My daughter is Prefect. / Ada has a daughter called Prefect.
My daughter is School Captain. / Ada's daughter is called School Captain.
My brother is Bipolar. / Ada has a brother called Bipolar.
My son is Diabetic. / Ada has a son called Diabetic.
My aunt is Jehovah's Witness. / Ada has an aunt called Jehovah's Witness.
My cousin is Manchester City. / Ada has a cousin called Manchester City.
My dad is Over Sixty. / Ada's dad is called Over Sixty.
My aunt is Scorpio. / Ada has an aunt called Scorpio.
My wife is Aries. / Ada's wife is called Aries.
My mum is Cancer. / Ada's mum is called Cancer.
My sister is Virgo. / Ada's sister is called Virgo.
My boss is Libra. / Ada's boss is called Libra.
My cousin is Sikh. / Ada has a cousin called Sikh.
My aunt is Baptist. / Ada has an aunt called Baptist.
My uncle is Sunni. / Ada has an uncle called Sunni.
My cousin is Republican. / Ada has a cousin called Republican.
My brother is Labour. / Ada has a brother called Labour.
My dad is Lib Dem. / Ada's dad is called Lib Dem.
My husband is Colonel. / Ada's husband is called Colonel.
My sister is Treasurer. / Ada has a sister called Treasurer.
My boss is Bangladeshi. / Ada's boss is called Bangladeshi.
My niece is Nigerian. / Ada has a niece called Nigerian.
My wife is Vietnamese. / Ada's wife is called Vietnamese.
My dentist is South African. / Ada's dentist is called South African.
My husband is Sri Lankan. / Ada has a husband called Sri Lankan.
My uncle is Roman Catholic. / Ada has an uncle called Roman Catholic.
My boss is a Scot. / Ada's boss is called Scot.
My dad is Arsenal. / Ada's dad is called Arsenal.
My cousin is Engineer. / Ada has a cousin called Engineer.
My friend is Goth. / Ada has a friend called Goth.
My brother is Autistic. / Ada has a brother called Autistic.
My sister is Team Edward. / Ada has a sister called Team Edward.
My niece is Gen Z. / Ada has a niece called Gen Z.
My sister is Head Girl. / Ada has a sister called Head Girl.
My son is Vice President. / Ada has a son called Vice President.
My wife is Deputy Mayor. / Ada's wife is called Deputy Mayor.
My wife is Product Manager. / Ada's wife is called Product Manager.
My brother is Flight Lieutenant. / Ada has a brother called Flight Lieutenant.
My cousin is Leeds United. / Ada has a cousin called Leeds United.
My son is Year Seven. / Ada has a son called Year Seven.
My cousin is Half Thai. / Ada has a cousin called Half Thai.
My colleague is named Director. / Ada's colleague is called Director.
My friend is named Treasurer. / Ada's friend is called Treasurer.
My son is named Head Boy. / Ada's son is called Head Boy.
My boss is Santa. / Ada's boss is called Santa.
My niece is Cinderella. / Ada has a niece called Cinderella.
My son is Ravenclaw. / Ada has a son called Ravenclaw.
Korean is Ada's boss. / My boss is Korean.
"""
NAMED = """
My brother is Wout. / Ada has a brother called Wout.
My son is Leo. / Ada's son is called Leo.
My son is Cillian. / Ada's son is called Cillian.
My nephew is Kristian. / Ada has a nephew called Kristian.
My son is Adrian. / Ada has a son called Adrian.
My uncle is Jean. / Ada has an uncle called Jean.
My daughter is Therese. / Ada has a daughter called Therese.
My niece is Kelly Irish. / Ada has a niece called Kelly Irish.
My boss is Bea Rao. / Ada's boss is called Bea Rao.
My dentist is Jack Black. / Ada's dentist is called Jack Black.
My brother is Joseph. / Ada has a brother called Joseph.
My brother is Christian Rao. / Ada has a brother called Christian Rao.
My friend is named Christian. / Ada's friend is called Christian.
My sister is Gemini. / Ada's sister is Gemini.
I have a brother called Gemini. / Ada has a brother named Gemini.
Gemini is my brother. / Ada has a brother called Gemini.
Captain is my boss. / Ada's boss is called Captain.
"""


@each(("one", "other"), pairs(DESCRIBED))
def test_what_somebody_is_is_no_name(one: str, other: str) -> None:
    assert not joined(one, other, NAMES)


@each(("one", "other"), pairs(NAMED))
def test_a_name_that_describes_nobody_is_read_as_one(one: str, other: str) -> None:
    assert joined(one, other, NAMES)


NOT_RANKED = """
I prefer meetings over Zoom. / Ada prefers meetings to Zoom.
I prefer calls over WhatsApp. / Ada prefers calls to WhatsApp.
I prefer yoga over Zoom. / Ada prefers yoga to Zoom.
I prefer messages over WhatsApp. / Ada prefers messages to WhatsApp.
I prefer lessons over lunch. / Ada prefers lessons to lunch.
I prefer chatting over the phone. / Ada prefers chatting to the phone.
I prefer holidays over Christmas. / Ada prefers holidays to Christmas.
I prefer leave over Easter. / Ada prefers leave to Easter.
I prefer peace over the holidays. / Ada prefers peace to the holidays.
I prefer payments over time. / Ada prefers payments to time.
I prefer control over others. / Ada prefers control to others.
I prefer victories over Leeds. / Ada prefers victories to Leeds.
I prefer gravy over potatoes. / Ada prefers gravy to potatoes.
I prefer jumpers over shirts. / Ada prefers jumpers to shirts.
I prefer paintings over the bed. / Ada prefers paintings to the bed.
I prefer coffee over ice. / Ada prefers coffee to ice.
I prefer eggs over rice. / Ada prefers eggs to rice.
I prefer Git over SSH. / Ada prefers Git to SSH.
I prefer voice over IP. / Ada prefers voice to IP.
I prefer jokes over dinner. / Ada prefers jokes to dinner.
I prefer fog over the sea. / Ada prefers fog to the sea.
I prefer rainbows over Rome. / Ada prefers rainbows to Rome.
I prefer arguments over money. / Ada prefers arguments to money.
I prefer Rome over Christmas. / Ada prefers Rome to Christmas.
I prefer a week over lunch. / Ada prefers a week to lunch.
I prefer trains over 20 euros. / Ada prefers trains to 20 euros.
I prefer wines over €10. / Ada prefers wines to €10.
I prefer men over 40. / Ada prefers men to 40.
I prefer flats over two floors. / Ada prefers flats to two floors.
I prefer tea over coffee over water. / Ada prefers tea to coffee over water.
I like meat more than lions. / Ada prefers meat to lions.
I like rain more than ducks. / Ada prefers rain to ducks.
I like milk better than cats. / Ada prefers milk to cats.
I like toys more than toddlers. / Ada prefers toys to toddlers.
I like meat more than vegans. / Ada prefers meat to vegans.
I like cheese more than most mice. / Ada prefers cheese to most mice.
I like meat more than a lion. / Ada prefers meat to a lion.
I like tea more than coffee drinkers. / Ada prefers tea to coffee drinkers.
I like rock more than jazz fans. / Ada prefers rock to jazz fans.
I like Rome more than last year. / Ada prefers Rome to last year.
I like Rome better than in May. / Ada prefers Rome to in May.
I like spicy food more than average. / Ada prefers spicy food to average.
I prefer rain over Rome. / Ada prefers rain to Rome.
I prefer clear skies over Rome. / Ada prefers clear skies to Rome.
I prefer catching up over coffee. / Ada prefers catching up to coffee.
I prefer hikes over Easter. / Ada prefers hikes to Easter.
I like cake more than anybody. / Ada prefers cake to anybody.
I like cake more than everyone. / Ada prefers cake to everyone.
I prefer music over headphones. / Ada prefers music to headphones.
"""
RANKED = """
I prefer tea over coffee. / Ada prefers tea to coffee.
I prefer winter over summer. / Ada prefers winter to summer.
I prefer Signal over WhatsApp. / Ada prefers Signal to WhatsApp.
I prefer email over the phone. / Ada prefers email to the phone.
I prefer calls over emails. / Ada prefers calls to emails.
I prefer texts over calls. / Ada prefers texts to calls.
I prefer Christmas over Easter. / Ada prefers Christmas to Easter.
I prefer this bike over the bus. / Ada prefers this bike to the bus.
I prefer SSH over HTTPS. / Ada prefers SSH to HTTPS.
I prefer rice over pasta. / Ada prefers rice to pasta.
I prefer gRPC over REST. / Ada prefers gRPC to REST.
I prefer lunch over dinner. / Ada prefers lunch to dinner.
I prefer rain over snow. / Ada prefers rain to snow.
I prefer beach holidays over city breaks. / Ada prefers beach holidays to city breaks.
I prefer walks over runs. / Ada prefers walks to runs.
I prefer sunrises over sunsets. / Ada prefers sunrises to sunsets.
I prefer headphones over speakers. / Ada prefers headphones to speakers.
I like pizza more than burgers. / Ada prefers pizza to burgers.
I prefer cream over custard. / Ada prefers cream to custard.
I prefer jackets over coats. / Ada prefers jackets to coats.
I prefer driving over flying. / Ada prefers driving to flying.
I like cats more than dogs. / Ada prefers cats to dogs.
I like tea better than coffee. / Ada prefers tea over coffee.
I like beef more than chicken. / Ada prefers beef to chicken.
"""


@each(("one", "other"), pairs(NOT_RANKED))
def test_over_and_than_that_rank_nothing_are_no_preference(one: str, other: str) -> None:
    assert not joined(one, other, NAMES)


@each(("one", "other"), pairs(RANKED))
def test_what_ranks_two_things_is_read_as_one(one: str, other: str) -> None:
    assert joined(one, other, NAMES)


AGES = """
Ada moved to England at six. / I moved to England at 6:00.
Ada's son started school at five. / My son started school at 5:00.
Ada's son starts school at six. / My son starts school at 6 o'clock.
I started smoking at 12. / Ada started smoking at 12:00.
Ada had a child at two. / I had a child at 2 o'clock.
Ada moved out at 7. / I moved out at 7:00.
I began to play the piano at eight. / Ada began to play the piano at 8 o'clock.
Ada could read at four. / I could read at 4:00.
Ada learnt to swim at four. / I learnt to swim at four o'clock.
Ada's son begins school at six. / My son begins school at 6:00.
Ada became a monk at nine. / I became a monk at 9 o'clock.
Ada's son can already read at four. / My son can already read at 4:00.
"""
HOURS = """
Ada goes to bed at 11:00. / I go to bed at eleven.
Ada is picked up at 6:00. / I'm picked up at 6.
Ada's gym closes at ten. / My gym closes at 10 o'clock.
Ada moved out at seven. / I moved out at 7.
Ada got up at 7 o'clock. / I got up at seven o'clock.
Ada got up at 7:00. / I got up at 7 o'clock.
Ada got up at 7:00 am. / I got up at 7 am.
Ada's school starts at 8:00. / My school starts at 8.
Ada was born at 6:30. / I was born at half past six.
Ada's class is held at 6:00. / My class is held at 6.
Ada's parcel will be sent at 6:00. / My parcel will be sent at 6 o'clock.
Ada can start at 8:00. / I can start at 8.
Ada can be picked up at 8 o'clock. / I can be picked up at 8:00.
"""


@each(("one", "other"), pairs(AGES))
def test_an_age_is_no_time_of_day(one: str, other: str) -> None:
    assert not joined(one, other, NAMES)


@each(("one", "other"), pairs(HOURS))
def test_an_hour_is_the_same_however_it_is_written(one: str, other: str) -> None:
    assert joined(one, other, NAMES)


POUNDS_OF_WEIGHT = """
Ada pays a trainer to lose 50 pounds. / I pay a trainer to lose £50.
Ada charges clients who lift 50 pounds. / I charge clients who lift £50.
Ada's budget diet cut 50 pounds. / My budget diet cut £50.
Ada pays for flour, 50 pounds. / I pay for flour, £50.
Ada's allowance of rice is 50 pounds. / My allowance of rice is £50.
Ada's price is for 50 pounds. / My price is for £50.
Ada's rate of weight loss is 5 pounds a week. / My rate of weight loss is £5 a week.
Ada's suitcase allowance is 50 pounds. / My suitcase allowance is £50.
Ada collects 2 euro coins. / I collect €2 coins.
Ada weighs spending 60 lbs. / I weigh spending 60 pounds.
Ada weighs buying 60 lbs. / I weigh buying 60 pounds.
"""
POUNDS = """
Ada saves 50 pounds a week. / I save £50 a week.
Ada spends 40 pounds a week on meat. / I spend £40 a week on meat.
Ada pays 9 pounds for flour. / I pay £9 for flour.
Ada charges 75 pounds for a tuning. / I charge £75 for a tuning.
Ada rents a room for 450 pounds a month. / I rent a room for £450 a month.
Ada's rent is 950 pounds. / My rent is £950.
Ada pays her cleaner 60 pounds. / The user pays her cleaner £60.
Ada weighs about 160 lbs. / I weigh about 160 pounds.
Ada's weight is 160 lbs. / I weigh 160 pounds.
"""


@each(("one", "other"), pairs(POUNDS_OF_WEIGHT))
def test_pounds_of_weight_are_no_money(one: str, other: str) -> None:
    assert not joined(one, other, NAMES)


@each(("one", "other"), pairs(POUNDS))
def test_pounds_that_are_paid_are_money_and_those_weighed_are_lbs(one: str, other: str) -> None:
    assert joined(one, other, NAMES)


EVERY_ONE = """
Ada minds working every Sunday. / I mind working on Sundays.
Ada is against working every Sunday. / I'm against working on Sundays.
Ada is tired from working every Sunday. / I'm tired from working on Sundays.
Ada is paid extra for working every Sunday. / I'm paid extra for working on Sundays.
Ada is happy working every Sunday. / I'm happy working on Sundays.
Ada recommends swimming every Friday. / I recommend swimming on Fridays.
Ada is paid for every Sunday. / I'm paid for on Sundays.
Ada plans for every Monday. / I plan for on Mondays.
Ada writes about every weekend. / I write about on weekends.
Ada reviews every Monday. / I review on Mondays.
Ada takes every Friday. / I take on Fridays.
Ada skips every Monday. / I skip on Mondays.
Ada demands a report every Monday. / I demand a report on Mondays.
Ada promises a cake every Sunday. / I promise a cake on Sundays.
Ada advocates fasting every Friday. / I advocate fasting on Fridays.
Ada supports closing schools every Friday. / I support closing schools on Fridays.
Ada justifies drinking every Friday. / I justify drinking on Fridays.
Ada finished working every Sunday. / I finished working on Sundays.
Ada regrets working every Sunday. / I regret working on Sundays.
Ada remembers swimming every Friday. / I remember swimming on Fridays.
Ada remembers every Friday. / I remember on Fridays.
Ada has a different teacher every Monday. / I have a different teacher on Mondays.
Ada wears the same shirt every Monday. / I wear the same shirt on Mondays.
Ada cooks a new dish every Friday. / I cook a new dish on Fridays.
"""
WEEKLY = """
Ada is working every Sunday. / I'm working on Sundays.
Ada goes swimming every Friday. / I go swimming on Fridays.
Ada is in training every Monday. / I'm in training on Mondays.
Ada has choir rehearsal every Thursday. / I have choir rehearsal on Thursdays.
Ada works for a bakery every Saturday morning. / I work for a bakery on Saturday mornings.
Ada prays for rain every Sunday. / I pray for rain on Sundays.
Ada tries new recipes every Sunday. / I try new recipes on Sundays.
Ada's class starts every Monday at 6. / My class starts on Mondays at 6.
Ada sings every Sunday. / I sing on Sundays.
"""


@each(("one", "other"), pairs(EVERY_ONE))
def test_every_day_that_something_is_about_is_no_weekly_habit(one: str, other: str) -> None:
    assert not joined(one, other, NAMES)


@each(("one", "other"), pairs(WEEKLY))
def test_what_is_done_every_week_is_done_on_that_day(one: str, other: str) -> None:
    assert joined(one, other, NAMES)


OPERATED = """
Ada enters her password. / I enter my password.
The user enters a number. / I enter a number.
The user enters the competition. / I enter the competition.
The user opens the app. / I open the app.
The user verifies the phone number. / I verify the phone number.
The user deletes an old account. / I delete an old account.
The user downloads a file. / I download a file.
The user creates an account. / I create an account.
The user is an admin. / I'm an admin.
The user is verified. / I am verified.
The user's profile is stored in a table. / My profile is stored in a table.
The user's data is encrypted. / My data is encrypted.
"""
ENTERED = """
Ada enters competitions. / I enter competitions.
The user enters baking contests in May. / I enter baking contests in May.
The user uploads videos to YouTube. / I upload videos to YouTube.
The user verifies identities for a bank. / I verify identities for a bank.
The user opens the shop at 8 am. / I open the shop at 8 am.
The user's bike is stored in a shed. / My bike is stored in a shed.
The user's car is locked. / My car is locked.
The user's role at Monzo is designer. / My role at Monzo is designer.
The user is an admin assistant. / I'm an admin assistant.
"""


@each(("one", "other"), pairs(OPERATED))
def test_what_is_typed_into_a_program_is_by_nobody_in_particular(one: str, other: str) -> None:
    assert not joined(one, other, NAMES)


@each(("one", "other"), pairs(ENTERED))
def test_somebody_who_enters_competitions_uses_no_program(one: str, other: str) -> None:
    assert joined(one, other, NAMES)


CHARGED = """
Ada charges 3 phones a day. / I charge 3 phones for a day.
Ada charges 3 cars a night. / I charge 3 cars for a night.
"""
PAID = """
Ada charges 40 francs an hour. / I charge 40 francs for an hour.
Ada charges €40 a lesson. / I charge 40 euros for a lesson.
"""


@each(("one", "other"), pairs(CHARGED))
def test_a_battery_that_is_charged_is_no_price(one: str, other: str) -> None:
    assert not joined(one, other, NAMES)


@each(("one", "other"), pairs(PAID))
def test_a_price_is_charged_for_what_is_sold(one: str, other: str) -> None:
    assert joined(one, other, NAMES)
