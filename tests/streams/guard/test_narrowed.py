"""Wordings that a rule once read as one although they differ, and those that it must still join."""

from __future__ import annotations

from tests.streams.guard.test_names import NAMES, joined, pairs
from tests.tables import each

DESCRIBED = """
My brother is Gemini. / Ada has a brother called Gemini.
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
My boss is Santa. / Ada's boss is called Santa.
My niece is Cinderella. / Ada has a niece called Cinderella.
My son is Ravenclaw. / Ada has a son called Ravenclaw.
Korean is Ada's boss. / My boss is Korean.
"""
NAMED = """
My brother is Wout. / Ada has a brother called Wout.
My son is Leo. / Ada's son is called Leo.
My son is Adrian. / Ada has a son called Adrian.
My uncle is Jean. / Ada has an uncle called Jean.
My daughter is Therese. / Ada has a daughter called Therese.
My niece is Kelly Irish. / Ada has a niece called Kelly Irish.
My boss is Bea Rao. / Ada's boss is called Bea Rao.
My dentist is Jack Black. / Ada's dentist is called Jack Black.
My brother is Joseph. / Ada has a brother called Joseph.
My brother is Christian Rao. / Ada has a brother called Christian Rao.
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
