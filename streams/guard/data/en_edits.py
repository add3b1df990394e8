"""The rows of the table of edits for English: what differs, what licenses it, and examples."""

from __future__ import annotations

from typing import NamedTuple

Pairs = tuple[tuple[str, str], ...]


class EditRow(NamedTuple):
    """An edit as people read it; `palimpsest.streams.guard.edits.english` has what finds it."""

    name: str
    changes: str
    """What differs between the two texts."""
    context: str
    """What has to stand around it."""
    passes: Pairs
    """Pairs that it makes near-identical."""
    fails: Pairs
    """Pairs that look like it but are not near-identical by it."""


ROWS: tuple[EditRow, ...] = (
    EditRow(
        "case-of-a-start",
        "a sentence begins with a small or a capital letter",
        "the rest of the word is in small letters, at least two words follow, and the word is on"
        " a closed list of words that are never names (*my*, *the*, *likes*; not *turkey*, *cook*,"
        " *cursor*)",
        (
            ("my cat sleeps on the couch", "My cat sleeps on the couch"),
            ("a small dog is sleeping", "A small dog is sleeping"),
        ),
        (
            ("turkey is what they love most", "Turkey is what they love most"),
            ("She is fond of Turkey.", "She is fond of turkey."),
            ("Pole dancing is her hobby.", "pole dancing is her hobby."),
            ("Cook is here with her.", "cook is here with her."),
            ("Cork is what they sell.", "cork is what they sell."),
            ("Bath is where she is.", "bath is where she is."),
            ("Welsh is what she speaks.", "welsh is what she speaks."),
            ("Shell is what they found.", "shell is what they found."),
            ("cursor is what she uses at work", "Cursor is what she uses at work"),
            ("IT is what she studied.", "It is what she studied."),
            ("mW is the unit of the plant", "MW is the unit of the plant"),
            ("the bank of Reading", "the bank of reading"),
            ("Tulip7 opens the gate of the house", "tulip7 opens the gate of the house"),
        ),
    ),
    EditRow(
        "case-of-a-text",
        "one of the texts is in small letters, or in capitals, from end to end",
        "in small letters: only weekdays, months and *I* as a pronoun (not *press i*) may have"
        " capitals in the other text; in capitals: words of the same closed list, of more than"
        " two letters, *A* and *I*; no identifier, number or unit in either text",
        (
            ("the choir meets on monday in the church", "the choir meets on Monday in the church"),
            ("SHE LIKES THE PEOPLE THERE", "She likes the people there"),
            ("she says that i am late", "she says that I am late"),
        ),
        (
            ("SHE LEFT IT", "She left it"),
            ("she likes rose with her fish", "she likes Rose with her fish"),
            ("he went to reading with her", "he went to Reading with her"),
            ("THE PLANT MAKES MW", "The plant makes mW"),
            ("SHE HAS AIDS AND A DOG", "She has aids and a dog"),
            ("SHE MET WILL AND BILL", "She met will and bill"),
            ("SHE READS TIME EVERY DAY", "She reads time every day"),
            ("SHE READS THE MIRROR", "She reads the mirror"),
            ("she must press i to begin", "she must press I to begin"),
            ("the index i is in the text", "the index I is in the text"),
        ),
    ),
    EditRow(
        "article",
        "only one of the texts has *a*, *an* or *the*",
        "*the* before a musical instrument that is played or learned, with nothing more said of"
        " it; *a* or *an* after *has*, *owns* or *bought*, or after *is* with a person as its"
        " subject, before a trade or a countable thing on a closed list (no animal, food or"
        " material), with at most two plain adjectives; or *the* before somebody's relative"
        " (*daughter of*), after the only comma of a text without *and* or *or*",
        (
            ("She plays the cello and sings.", "She plays cello and sings."),
            ("He has a red car with him.", "He has red car with him."),
            ("He is a dentist in Lyon.", "He is dentist in Lyon."),
            ("It is by Ann, the daughter of her boss.", "It is by Ann, daughter of her boss."),
        ),
        (
            ("His daughter is in class 3a.", "His daughter is in class 3."),
            ("her blood type is a positive", "her blood type is positive"),
            ("he takes vitamin a every day", "he takes vitamin every day"),
            ("She has a few friends.", "She has few friends."),
            ("She is in the charge of her son.", "She is in charge of her son."),
            ("The plants need water every day.", "Plants need water every day."),
            ("The milk is bad for her.", "Milk is bad for her."),
            ("Her nickname is a baker.", "Her nickname is baker."),
            ("The tag is a bicycle for her.", "The tag is bicycle for her."),
            ("She went by the car to the lake.", "She went by car to the lake."),
            ("He went to the cook of the inn.", "He went to cook of the inn."),
            ("He is out of the question.", "He is out of question."),
            ("She met a king at the ball.", "She met the king at the ball."),
            ("The first cat is hers.", "First cat is hers."),
            ("She learned the cello is old.", "She learned cello is old."),
            ("He likes the rabbit.", "He likes rabbit."),
            ("She ate a dog.", "She ate dog."),
            ("The baker likes her dog.", "Baker likes her dog."),
            ("He works in the hospital.", "He works in hospital."),
            ("He has a chicken for them.", "He has chicken for them."),
            ("The next stop is a castle.", "The next stop is castle."),
            ("Her horse is a dancer.", "Her horse is dancer."),
            ("She met the son of her boss.", "She met son of her boss."),
            ("It is Ann, the son of Tom, and Bob.", "It is Ann, son of Tom, and Bob."),
        ),
    ),
    EditRow(
        "a-or-an",
        "*a* for *an*",
        "before a word of more than one letter that is not an acronym",
        (("He has an European dog.", "He has a European dog."),
         ("It is an unicorn of her own.", "It is a unicorn of her own.")),
        (("He got an A.", "He got a A."),
         ("She has an apple.", "She has a pear.")),
    ),
    EditRow(
        "contraction",
        "a contraction is written out, or lacks its apostrophe",
        "a contraction with one meaning only (*don't*, *can't*, *I'm*, *they're*, *we've*,"
        " *she'll*); never *'d*, *let's* or a possessive; neither in a question nor in a title"
        " (*Do Not Stop*)",
        (
            ("She doesn't eat fish.", "She does not eat fish."),
            ("I'm a baker in Lyon, they say.", "I am a baker in Lyon, they say."),
            ("She doesnt eat fish.", "She doesn't eat fish."),
            ("We can't swim.", "We cannot swim."),
        ),
        (
            ("Let's eat with them.", "Let us eat with them."),
            ("Her song is Don't Stop.", "Her song is Do Not Stop."),
            ("She saw I'm Not There.", "She saw I Am Not There."),
            ("He'd paid for her.", "He would paid for her."),
            ("He'd seen her there.", "He would seen her there."),
            ("Its her dog.", "It's her dog."),
            ("She cant it to the left.", "She can it to the left."),
            ("We're late for the train.", "Were late for the train."),
        ),
    ),
    EditRow(
        "is-contracted",
        "*'s* after a pronoun is written out as *is*",
        "before what cannot follow *has*: an article, *not*, an adjective or a name; never before"
        " what may be a participle, never after a noun",
        (
            ("He's a baker.", "He is a baker."),
            ("It's not fair to them.", "It is not fair to them."),
            ("It isn't true at all.", "It's not true at all."),
        ),
        (
            ("He's injured in the car.", "He is injured in the car."),
            ("She's paid 50 euros.", "She is paid 50 euros."),
            ("She's got it.", "She is got it."),
            ("Her song is It's Raining.", "Her song is It Is Raining."),
            ("He's not paid.", "He is not paid."),
            ("She's really hurt the dog.", "She is really hurt the dog."),
            ("The dog's food is bad for her.", "The dog is food is bad for her."),
        ),
    ),
    EditRow(
        "user",
        "only one of the texts begins with *user* or *the user*, or with *user is* before a verb in"
        " *-ing*; or only one has *the* before *user* or *user's*",
        "before a verb of state in the third person (*likes*, *prefers*, *lives*, *is*) and"
        " more words, or a verb in the past and its object (*bought a*); *the* also before"
        " *user* and an auxiliary, *moved to* or *works at*, and before *user's* and a noun (no"
        " *manual*); the verb in *-ing* before an article, a number or a preposition; as the"
        " first word of the text, not of a later sentence; not in a question",
        (
            ("The user likes jazz and swims with her dog.", "Likes jazz and swims with her dog."),
            ("User is a baker and has a dog.", "Is a baker and has a dog."),
            ("The user prefers tea with milk.", "User prefers tea with milk."),
            ("User is working on a book about her dog.", "Working on a book about her dog."),
            ("User bought a boat for the lake.", "Bought a boat for the lake."),
            ("User is currently writing about her dog.", "Currently writing about her dog."),
            ("The user's dog has a cold.", "User's dog has a cold."),
            ("The user works at an inn.", "User works at an inn."),
            ("The user does not eat fish.", "User does not eat fish."),
            ("The user moved to the city.", "User moved to the city."),
        ),
        (
            ("User works with the team.", "Works with the team."),
            ("The user interface is slow.", "Interface is slow."),
            ("The user is here with you?", "Is here with you?"),
            ("I asked what the user likes most.", "I asked what likes most."),
            ("User accounts for testing are slow.", "Accounts for testing are slow."),
            ("User stories the team wrote.", "Stories the team wrote."),
            ("User feed the team built is slow.", "Feed the team built is slow."),
            ("The user feed in the app is slow.", "User feed in the app is slow."),
            ("The user accounts are slow.", "User accounts are slow."),
            ("The user defined names are lost.", "User defined names are lost."),
            ("The user needs in the app are high.", "User needs in the app are high."),
            ("The user works in the shop are hers.", "User works in the shop are hers."),
            ("The user's guide is here.", "User's guide is here."),
            ("User's dog is ill.", "Dog is ill."),
            ("User does not eat fish.", "Does not eat fish."),
            ("User works at an inn.", "Works at an inn."),
            ("User read the book about the dog.", "Read the book about the dog."),
            ("User is building inspector of the city.", "Building inspector of the city."),
            ("User was working on her book.", "Working on her book."),
            ("User is driving instructor in Rome.", "Driving instructor in Rome."),
            ("User is regarding her dog with love.", "Regarding her dog with love."),
            ("User likes are counted by them.", "Likes are counted by them."),
            ("Tom is here. User likes jazz with her.", "Tom is here. Likes jazz with her."),
        ),
    ),
    EditRow(
        "is-of-a-caption",
        "only one of the texts has *is* or *are* (or *is located*, *is situated*, *is"
        " positioned*) between what is shown and what it does or where it is",
        "a single sentence that begins with *a*, *an* or a number; a verb in *-ing* or a place"
        " follows; no other verb, no *and*, *that* or negation, nor *one child in five*; the"
        " other text has no verb; never before what may be a participle of the past",
        (
            ("A man is riding a horse.", "A man riding a horse."),
            ("A cat is on the couch.", "A cat on the couch."),
            ("Two dogs are running in the park.", "Two dogs running in the park."),
        ),
        (
            ("She is paid 50 euros a week.", "She paid 50 euros a week."),
            ("The manager is fired.", "The manager fired."),
            ("A teacher is invited to the party.", "A teacher invited to the party."),
            ("The staff will be cut next year.", "The staff will cut next year."),
            ("The boss is Tom.", "The boss Tom."),
            ("A man is not in the car.", "A man not in the car."),
            ("A woman is a man in the park.", "A woman a man in the park."),
            ("A man is holding a dog running.", "A man holding a dog is running."),
            ("A girl is chasing a boy in the park.", "A girl chasing a boy is in the park."),
            ("One child is in five groups.", "One child in five groups."),
        ),
    ),
    EditRow(
        "relative",
        "only one of the texts has *that is*, *which is* or *who are* before what is done or"
        " where something is",
        "after a person or thing on a closed list that begins the sentence, with its article and"
        " at most a colour (after a verb, the place could be the verb's); before a verb in"
        " *-ing*, or a place (not *who is at work*)",
        (
            ("A cat that is in the garden sleeps.", "A cat in the garden sleeps."),
            ("A woman who is holding a cup smiles.", "A woman holding a cup smiles."),
        ),
        (
            ("She put the cup that is on the table.", "She put the cup on the table."),
            ("She shot the man that is in the car.", "She shot the man in the car."),
            ("She says that is in the garden.", "She says in the garden."),
            ("The man who is paid left.", "The man paid left."),
            ("The woman who is at work swims.", "The woman at work swims."),
            ("The man who was in the car left.", "The man in the car left."),
            ("The dog, which is on the couch, is hers.", "The dog,, on the couch, is hers."),
        ),
    ),
    EditRow(
        "comma",
        "only one of the texts has a comma",
        "after a phrase of time that opens a sentence, before a pronoun; before *too* at the"
        " end; before the *and* or *or* of a list at the end of the sentence, of three or more"
        " single words: all capitalised, all plural, all in *-ing*, or all colours or"
        " instruments; no pair that is one thing (*fish, and chips*)",
        (
            ("In the morning, she drinks tea.", "In the morning she drinks tea."),
            ("She likes tea, too.", "She likes tea too."),
            ("She met Ann, Bob, and Carl.", "She met Ann, Bob and Carl."),
        ),
        (
            ("No, pets are allowed in the flat.", "No pets are allowed in the flat."),
            ("Let's eat, Grandma.", "Let's eat Grandma."),
            ("He has lived in Portland, Oregon.", "He has lived in Portland and Oregon."),
            ("He has lived in Portland, Oregon.", "He has lived in Portland Oregon."),
            ("Tom Paul is with her.", "Tom, Paul is with her."),
            ("She met her parents, Ann, and Bob.", "She met her parents, Ann and Bob."),
            ("Ann, Bob, and Carl are with her.", "Ann, Bob and Carl are with her."),
            ("Stop, the car is here.", "Stop the car is here."),
            ("Every day, he swims, she pays.", "Every day he swims, she pays."),
            ("She ate soup, fish, and chips.", "She ate soup, fish and chips."),
            ("He saw Cuba, Trinidad, and Tobago.", "He saw Cuba, Trinidad and Tobago."),
            ("He read Emma, Pride, and Prejudice.", "He read Emma, Pride and Prejudice."),
            ("They sing jazz, country, or western.", "They sing jazz, country or western."),
            ("She ate soup, pie, and mash.", "She ate soup, pie and mash."),
            ("They play tag, hide, and seek.", "They play tag, hide and seek."),
            ("She saw Emma, Will, and Grace.", "She saw Emma, Will and Grace."),
            ("Most of the time, travellers worry.", "Most of the time travellers worry."),
        ),
    ),
    EditRow(
        "number-word",
        "a number from two to twelve, or 20, 30, 40, 50, in words or in figures",
        "before a plural in small letters; after a verb, a preposition, an article or a similar"
        " word (not *plan two*); not beside another part of a number, nor in a name (*is called*,"
        " *the user name is*)",
        (
            ("She has three dogs.", "She has 3 dogs."),
            ("They wait for five days.", "They wait for 5 days."),
            ("User mentors two children.", "User mentors 2 children."),
            ("Her class is two days a week.", "Her class is 2 days a week."),
            ("Her name is Mia and he is two weeks in.", "Her name is Mia and he is 2 weeks in."),
            ("In other words, it is two houses away.", "In other words, it is 2 houses away."),
            ("The code review is two hours long.", "The code review is 2 hours long."),
            ("Her dog is called Rex and has two toys.", "Her dog is called Rex and has 2 toys."),
        ),
        (
            ("She has three dogs.", "She has 4 dogs."),
            ("It is ten to five.", "It is 10 to five."),
            ("She has twenty two dogs.", "She has twenty 2 dogs."),
            ("She takes bus five days a week.", "She takes bus 5 days a week."),
            ("The sticker reads three dogs.", "The sticker reads 3 dogs."),
            ("He came in week two days ago.", "He came in week 2 days ago."),
            ("She is in group three days a week.", "She is in group 3 days a week."),
            ("He is on floor two nights a week.", "He is on floor 2 nights a week."),
            ("Since June ten people left.", "Since June 10 people left."),
            ("He owns Xbox two games.", "He owns Xbox 2 games."),
            ("She is on plan two days a week.", "She is on plan 2 days a week."),
            ("The nurse saw bed three times.", "The nurse saw bed 3 times."),
            ("The paper reads two dogs.", "The paper reads 2 dogs."),
            ("The file is named two dogs.", "The file is named 2 dogs."),
            ("Her team is called the three amigos.", "Her team is called the 3 amigos."),
            ("Her user name is two dogs.", "Her user name is 2 dogs."),
            ("The word that she uses is two dogs.", "The word that she uses is 2 dogs."),
            ("The magic word is three cats.", "The magic word is 3 cats."),
            ("The code for her door is two knocks.", "The code for her door is 2 knocks."),
            ("one says what they mean", "1 says what they mean"),
        ),
    ),
    EditRow(
        "decimals",
        "a number has zeros after its point, or commas between its thousands",
        "before a currency or a unit of measure, but not of time (*2.10 hours*); never with"
        " three figures after the point; after a verb, a preposition or a similar word, not"
        " after a name or *version*; no pounds of weight",
        (
            ("The parcel weighs 3.50 kg.", "The parcel weighs 3.5 kg."),
            ("She owes 1,200 euros.", "She owes 1200 euros."),
        ),
        (
            ("The service runs on Python 3.1.", "The service runs on Python 3.10."),
            ("The house costs 20.000 euros.", "The house costs 20 euros."),
            ("See section 4.10 of the book.", "See section 4.1 of the book."),
            ("She takes .5 mg at night.", "She takes 5 mg at night."),
            ("The room is 1,200 for them.", "The room is 1200 for them."),
            ("She owes 1,20 euros.", "She owes 120 euros."),
            ("The trip takes 2.10 hours.", "The trip takes 2.1 hours."),
            ("She runs Python 3.10 days later.", "She runs Python 3.1 days later."),
            ("Release 1.10 meters their traffic.", "Release 1.1 meters their traffic."),
            ("It is figure 2.10 percent of it.", "It is figure 2.1 percent of it."),
            ("Her kernel 5.10 meters the load.", "Her kernel 5.1 meters the load."),
            ("Her app 2.10 pounds the server.", "Her app 2.1 pounds the server."),
            ("He runs ubuntu 20.10 miles away.", "He runs ubuntu 20.1 miles away."),
            ("The baby weighs 8.10 pounds.", "The baby weighs 8.1 pounds."),
        ),
    ),
    EditRow(
        "unit-apart",
        "km, kg, cm or mm is apart from its number",
        "the number in plain figures, the unit in small letters",
        (("She walks 5km with her dog.", "She walks 5 km with her dog."),),
        (
            ("It makes 5Mm with that.", "It makes 5 mm with that."),
            ("The label is 5m with that.", "The label is 5 m with that."),
            ("She walks 5km with her dog.", "She walks 5 kg with her dog."),
        ),
    ),
    EditRow(
        "date-order",
        "a date has its day before the month, or after it",
        "after *on*, *since*, *until*, *from*, *by* and similar words, or at the beginning; not"
        " before a verb, *or 5* or a noun that the day could count; never the first end of a"
        " range (*to*, *till*); *March*, *April*, *May*, *June*, *August*, *Jan*, *Mar*, *Jun* and"
        " *Dec*, which may be names or other words, need a year, an end of the text"
        " or a preposition after the date",
        (
            ("He was born on 6 October 1899 in Kent.", "He was born on October 6, 1899 in Kent."),
            ("The exam is on 6 October.", "The exam is on October 6."),
        ),
        (
            ("She has 6 October meetings with him.", "She has October 6 meetings with him."),
            ("He was born on 6 October 1899.", "He was born on October 9, 1896."),
            ("It is due on 10 November 2026.", "It is due on November 10, 2027."),
            ("She is on 6 October meetings.", "She is on October 6 meetings."),
            ("They sold 12 March 2020 coins.", "They sold March 12, 2020 coins."),
            ("On 2 May 1990 of them left.", "On May 2, 1990 of them left."),
            ("On 2 March 2020 or more left.", "On March 2, 2020 or more left."),
            ("He is with her from 2 May to 9.", "He is with her from May 2 to 9."),
            ("Before 10 June came home.", "Before June 10 came home."),
            ("Before 10 Jan came home.", "Before Jan 10 came home."),
            ("By 8 March left her house.", "By March 8 left her house."),
            ("By 6 October was over.", "By October 6 was over."),
            ("On 3 October or 5 of them left.", "On October 3 or 5 of them left."),
        ),
    ),
    EditRow(
        "spelling",
        "the British or the American spelling of a word",
        "a word on a closed list, in small letters, that is not another word in either"
        " spelling; *grey* and *honour*, which are also names, in a text in small letters only"
        " after an article or *is*; not in a text about words (*username*, *spelling*,"
        " *called*), as for all synonyms",
        (
            ("Her favourite song is by Abba.", "Her favorite song is by Abba."),
            ("The theatre near the river", "The theater near the river"),
        ),
        (
            ("She met Mr Gray at her house.", "She met Mr Grey at her house."),
            ("He bought a tyre with her.", "He bought a tire with her."),
            ("The meter is broken at her house.", "The metre is broken at her house."),
            ("Set color= in the theme.", "Set colour= in the theme."),
            ("Her username is grey.", "Her username is gray."),
            ("She prefers the spelling colour.", "She prefers the spelling color."),
            ("The branch is named color.", "The branch is named colour."),
            ("The first story of the house", "The first storey of the house"),
            ("she met mr gray at her house", "she met mr grey at her house"),
        ),
    ),
    EditRow(
        "hyphen",
        "a compound adjective with or without its hyphen",
        "a word on a closed list, in small letters, before a noun, or at the end if it follows"
        " no article (*a long term*)",
        (("It is a family-friendly inn.", "It is a family friendly inn."),),
        (
            ("She saw a man-eating shark.", "She saw a man eating shark."),
            ("They are thirty-one day trips.", "They are thirty one-day trips."),
            ("He will re-sign with the club.", "He will resign with the club."),
            ("The second hand of it is here.", "The second-hand of it is here."),
            ("He won the second hand with it.", "He won the second-hand with it."),
            ("She served a long term in it.", "She served a long-term in it."),
            ("They made sugar free for kids.", "They made sugar-free for kids."),
            ("He is left handed over to them.", "He is left-handed over to them."),
        ),
    ),
    EditRow(
        "size",
        "*small*, *little* and *tiny*",
        "before a noun on a closed list that is not an amount (*girl*, *dog*, *boat*), with at"
        " most a colour between, after *a*, *the* or a number, or after a preposition if the"
        " noun is plural; not before another noun, an adjective or an activity (*a little camera"
        " shy*, *a little bird watching*); no *tiny house*, no baby that is born, nothing that"
        " is *left*; no relatives, no possessives, nothing that is eaten, no *pretty little*",
        (
            ("The little girl sleeps.", "The small girl sleeps."),
            ("A little white dog runs in the park.", "A small white dog runs in the park."),
            ("A little girl selling tea smiles.", "A small girl selling tea smiles."),
            ("There is a little band performing.", "There is a small band performing."),
        ),
        (
            ("This is her little brother.", "This is her small brother."),
            ("She drinks a little milk.", "She drinks a small milk."),
            ("She is a little tired.", "She is a small tired."),
            ("He knows a little piano.", "He knows a small piano."),
            ("She ate a little cake.", "She ate a tiny cake."),
            ("He plays a little pool with her.", "He plays a small pool with her."),
            ("They have a little street in them.", "They have a small street in them."),
            ("She ate a little dog.", "She ate a small dog."),
            ("They have little family.", "They have small family."),
            ("She is a little camera shy.", "She is a small camera shy."),
            ("He is a little dog tired.", "He is a small dog tired."),
            ("She drinks a little water.", "She drinks a small water."),
            ("There is little hope for them.", "There is small hope for them."),
            ("She is a pretty little girl.", "She is a pretty small girl."),
            ("It is a little dirty boat.", "It is a small dirty boat."),
            ("She does a little dog training.", "She does a small dog training."),
            ("They did a little bird watching.", "They did a small bird watching."),
            ("He sells a little girl clothes.", "He sells a small girl clothes."),
            ("She did a little baby sitting.", "She did a small baby sitting."),
            ("There is a little dog walking to do.", "There is a small dog walking to do."),
            ("A little horse riding is good.", "A small horse riding is good."),
            ("They had a little rabbit for lunch.", "They had a small rabbit for lunch."),
            ("A little bird told her.", "A small bird told her."),
            ("He has a little dog and cat hair on him.", "He has a small dog and cat hair on him."),
            ("There is a little boy in him.", "There is a small boy in him."),
            ("He is a little child at heart.", "He is a small child at heart."),
            ("He has a little stream of cash.", "He has a small stream of cash."),
            ("She wants a little piece and quiet.", "She wants a small piece and quiet."),
            ("This is his little girl.", "This is his small girl."),
            ("She has a small dog.", "She has a large dog."),
            ("She lives in a tiny house.", "She lives in a small house."),
            ("She had a small baby in May.", "She had a little baby in May."),
            ("There is a little road left to go.", "There is a small road left to go."),
        ),
    ),
    EditRow(
        "large",
        "*big* for *large*; *huge*, *enormous*, *gigantic* for each other",
        "before a thing or animal on a closed list, with at most plain adjectives between, and"
        " no other noun after it (*a big dog lover*); never after *the* or a form of *be* (*is a"
        " big pig*); never of people, nor of food and clothes, which have sizes",
        (
            ("Ada has a big dog at her house.", "Ada has a large dog at her house."),
            ("They live in a huge castle.", "They live in an enormous castle."),
        ),
        (
            ("This is her big brother.", "This is her large brother."),
            ("It is a big deal for them.", "It is a large deal for them."),
            ("It was a big day for her.", "It was a large day for her."),
            ("They have a big house.", "They have a huge house."),
            ("She is a big dog lover.", "She is a large dog lover."),
            ("He ordered a big pizza.", "He ordered a large pizza."),
            ("She wears a big shirt.", "She wears a large shirt."),
            ("He saw a big cat.", "He saw a large cat."),
            ("He moved to the big city.", "He moved to the large city."),
            ("She lives across the big pond.", "She lives across the large pond."),
            ("The party is a big tent.", "The party is a large tent."),
            ("It is a big puzzle to her.", "It is a large puzzle to her."),
            ("Her boss is a big pig.", "Her boss is a large pig."),
        ),
    ),
    EditRow(
        "near",
        "*near* for *close to*; *beside* for *next to*",
        "before a determiner and a thing on a closed list; before *a*, *an*, *some*, *two* it"
        " is enough that a verb of posture or motion (*stands*, *running*) or a thing precedes;"
        " *near* for *close to* only after such a verb, a person or a thing, and after *is* only"
        " before *a* or *some* (*she is close to her dog*); never of people or of what is"
        " abstract, such as aims and amounts, nor in a text that ranks (*best next to the dog*)",
        (
            ("The mill is next to the bridge.", "The mill is beside the bridge."),
            ("She lives close to the lake.", "She lives near the lake."),
            ("A boy runs near some steps.", "A boy runs close to some steps."),
            ("A girl sits at a table near a baby.", "A girl sits at a table close to a baby."),
        ),
        (
            ("She is close to her mother.", "She is near her mother."),
            ("He was close to tears with her.", "He was near tears with her."),
            ("This is beside the point.", "This is next to the point."),
            ("It is next to nothing for them.", "It is beside nothing for them."),
            ("She is close to a decision.", "She is near a decision."),
            ("He is close to two of her friends.", "He is near two of her friends."),
            ("She lives near the lake.", "She lives next to the lake."),
            ("She likes cats best next to the dog.", "She likes cats best beside the dog."),
            ("The cat comes next to the dog in age.", "The cat comes beside the dog in age."),
            ("It is next to the lake in her list.", "It is beside the lake in her list."),
            ("She is close to her dog.", "She is near her dog."),
            ("He is close to a church.", "He is near a church."),
            ("The man close to the church left.", "The man near the church left."),
            ("People close to a minister say so.", "People near a minister say so."),
            ("The price is close to the car.", "The price is near the car."),
            ("The taste is close to a banana.", "The taste is near a banana."),
            ("They plan to close to the street.", "They plan to near the street."),
            ("He is standing close to a decision.", "He is standing near a decision."),
            ("She works close to a senator.", "She works near a senator."),
            ("She is running close to a deadline.", "She is running near a deadline."),
        ),
    ),
    EditRow(
        "noun",
        "everyday words for one thing (*couch*, *sofa*; *mother*, *mum*; *photo*, *photograph*)",
        "a pair on a closed list, in small letters, after a determiner or a plain adjective"
        " (relatives after *my*, *her* and similar words), and not before another noun; no *kids"
        " of*, no *our father*, no kids of a herd; as for all synonyms, not if the texts have"
        " the same words (*a sofa, not a couch*)",
        (
            ("She sleeps on the couch.", "She sleeps on the sofa."),
            ("The girl walks with her mom.", "The girl walks with her mother."),
            ("User has two kids.", "User has two children."),
        ),
        (
            ("German is her mother tongue.", "German is her mom tongue."),
            ("she lives at 12 mill road", "she lives at 12 mill street"),
            ("He has a cell phone with him.", "He has a smart phone with him."),
            ("The ship carries 500 tons of it.", "The ship carries 500 tonnes of it."),
            ("The report is due in two weeks.", "The report is due within two weeks."),
            ("He has a film crew with him.", "He has a movie crew with him."),
            ("They met their doctor.", "They met their physician."),
            ("The goat has two kids.", "The goat has two children."),
            ("The goat's two kids are here.", "The goat's two children are here."),
            ("The doe has two kids with her.", "The doe has two children with her."),
            ("Their herd has two kids.", "Their herd has two children."),
            ("She read of the kids of God.", "She read of the children of God."),
            ("She says the our father.", "She says the our dad."),
            ("He bought a couch, not a sofa.", "He bought a sofa, not a couch."),
            ("The couch is next to the sofa.", "The sofa is next to the couch."),
            ("He is the father of the church.", "He is the dad of the church."),
            ("Her mother of pearl ring is here.", "Her mom of pearl ring is here."),
            ("The plane is in her toolbox.", "The airplane is in her toolbox."),
            ("Her safe word is the couch.", "Her safe word is the sofa."),
            ("Her tattoo says my mom.", "Her tattoo says my mother."),
            ("The answer is the couch.", "The answer is the sofa."),
            ("She calls it the sofa.", "She calls it the couch."),
        ),
    ),
    EditRow(
        "street",
        "*street* for *road*",
        "after an article and at most one plain adjective, where somebody crosses it (*across*,"
        " *crossing*), goes along it (*walking down*, *riding along*), stands or plays in it, or"
        " is beside, in the middle or on a side of it; or after *on a* or *down a* and an adjective"
        " (*busy*); never in an address",
        (
            ("The girl is walking down the street.", "The girl is walking down the road."),
            ("A man is crossing a busy road.", "A man is crossing a busy street."),
            ("They are standing in the street.", "They are standing in the road."),
            ("A dog sits in the middle of the road.", "A dog sits in the middle of the street."),
            ("He rides his bike on a busy street.", "He rides his bike on a busy road."),
        ),
        (
            ("she lives at 12 mill road", "she lives at 12 mill street"),
            ("her office is on park road", "her office is on park street"),
            ("They live on the street.", "They live on the road."),
            ("They hit the road.", "They hit the street."),
            ("Her dream is down the road.", "Her dream is down the street."),
            ("He works in the street with them.", "He works in the road with them."),
            ("They sleep on the street.", "They sleep on the road."),
            ("The band is playing on the road.", "The band is playing on the street."),
            ("He is walking down the road to ruin.", "He is walking down the street to ruin."),
            ("It is on a long road to peace.", "It is on a long street to peace."),
            ("It is the end of the road.", "It is the end of the street."),
            ("They stand in a road of fire.", "They stand in a street of fire."),
            ("Her taste is middle of the road.", "Her taste is middle of the street."),
            ("The band is in the middle of the road.", "The band is in the middle of the street."),
        ),
    ),
    EditRow(
        "nobody",
        "*nobody* for *no one*, and similar words",
        "before a verb, in small letters; not after *of*, nor *no one* after a conjunction or a"
        " mark and several things (*two lifts but no one works*)",
        (
            ("She hopes that nobody will call.", "She hopes that no one will call."),
            ("The phone is on but nobody will call.", "The phone is on but no one will call."),
            ("She says nobody was at her house.", "She says no one was at her house."),
            ("Her bus was late and nobody came.", "Her bus was late and no one came."),
            ("It is always loud but nobody came.", "It is always loud but no one came."),
            ("She is as ill as Bob and nobody came.", "She is as ill as Bob and no one came."),
            ("She has glasses so nobody will ask.", "She has glasses so no one will ask."),
            ("It was late and someone was here.", "It was late and somebody was here."),
            ("She had two dogs but everyone was ill.", "She had two dogs but everybody was ill."),
        ),
        (
            ("She is a nobody of the city.", "She is a no one of the city."),
            ("She hopes that no one man will call.", "She hopes that nobody man will call."),
            ("She hopes that anyone will call.", "She hopes that someone will call."),
            ("Of the pills no one is enough.", "Of the pills nobody is enough."),
            (
                "The shop has two lifts but no one works.",
                "The shop has two lifts but nobody works.",
            ),
            ("She owns four pens and no one writes.", "She owns four pens and nobody writes."),
            ("He tried the switches, no one works.", "He tried the switches, nobody works."),
            ("She has 3 sons though no one calls.", "She has 3 sons though nobody calls."),
            ("The sheep are old, but no one was ill.", "The sheep are old, but nobody was ill."),
            ("There are lamps here; no one works.", "There are lamps here; nobody works."),
            ("She had some pills, yet no one was new.", "She had some pills, yet nobody was new."),
        ),
    ),
    EditRow(
        "happy",
        "*happy*, *glad*, *pleased*, *delighted* and *joyful*",
        "after *very* and similar words, at the end of the sentence; said of somebody, or after"
        " *looks* and *seems*",
        (
            ("The children are very happy.", "The children are very glad."),
            ("The boy looks so happy.", "The boy looks so delighted."),
        ),
        (
            ("The children are very happy.", "The children are very proud."),
            ("She is happy with his death.", "She is glad with his death."),
            ("It was a happy day for them.", "It was a glad day for them."),
            ("The children are happy.", "The children are delighted."),
            ("The ending is very happy.", "The ending is very glad."),
            ("The room feels very happy.", "The room feels very pleased."),
            ("His voice seems very happy.", "His voice seems very pleased."),
            ("She wants to be happy.", "She wants to be pleased."),
            ("She was happy.", "She was glad."),
            ("Money does not make them happy.", "Money does not make them pleased."),
        ),
    ),
    EditRow(
        "daily",
        "*daily* for *every day*, and the same for weeks and months",
        "at the end of a sentence, after a word in small letters that is not a form of *be*, an"
        " article, an amount or a comparison; nor *the* or *a* with a noun that is no person or"
        " thing (*the echo daily*); in no text with a negation or about what is read, sold or"
        " published",
        (("She swims with her dog every day.", "She swims with her dog daily."),),
        (
            ("She reads the daily.", "She reads the every day."),
            ("The paper is daily.", "The paper is every day."),
            ("She swims almost every other day.", "She swims almost daily."),
            ("She swims every day.", "She swims every week."),
            ("She swims all but every day.", "She swims all but daily."),
            ("She reads Variety daily.", "She reads Variety every day."),
            ("She eats less daily.", "She eats less every day."),
            ("She sleeps deeper daily.", "She sleeps deeper every day."),
            ("She is not paid weekly.", "She is not paid every week."),
            ("They meet bi weekly.", "They meet bi every week."),
            ("She edits a fashion weekly.", "She edits a fashion every week."),
            ("She buys the guardian weekly.", "She buys the guardian every week."),
            ("She is with the echo daily.", "She is with the echo every day."),
        ),
    ),
    EditRow(
        "adverb",
        "*quickly* for *rapidly*, *maybe* for *perhaps*",
        "in small letters, before a preposition, a verb, a mark or the end",
        (("The man walks quickly to the station.", "The man walks rapidly to the station."),),
        (
            ("The man walks quickly to the station.", "The man walks slowly to the station."),
            ("It is a rapidly moving train.", "It is a quickly moving train."),
            ("She runs quickly, not rapidly.", "She runs rapidly, not quickly."),
        ),
    ),
    EditRow(
        "bought",
        "*bought* for *purchased*",
        "before *a* or *an* and a thing on a closed list, not after an auxiliary",
        (("She bought a piano with her sister.", "She purchased a piano with her sister."),),
        (
            ("He bought the story of his friend.", "He purchased the story of his friend."),
            ("They bought time with it.", "They purchased time with it."),
            ("She bought a piano with her sister.", "She sold a piano with her sister."),
        ),
    ),
    EditRow(
        "named",
        "*called* for *named*",
        "after *is* or *are* and a relative, an animal or a thing (*the new captain is named Rex*"
        " is an appointment), before a name that ends the sentence and is not a weekday or month,"
        " nor somebody's title (*her brother is called Captain*)",
        (
            ("His dog is called Rex.", "His dog is named Rex."),
            ("His dog is called Captain.", "His dog is named Captain."),
        ),
        (
            ("Her boss called Tom.", "Her boss is Tom."),
            ("Her boss called Tom.", "Her boss named Tom."),
            ("My dentist called Dr. Kern.", "My dentist is Dr. Kern."),
            ("She was called by the bank.", "She was named by the bank."),
            ("She was called Monday.", "She was named Monday."),
            ("The new captain is named Rex.", "The new captain is called Rex."),
            ("Her heir is named Tom.", "Her heir is called Tom."),
            ("The captain was named Rex.", "The captain was called Rex."),
            ("Her brother is named Captain.", "Her brother is called Captain."),
            ("Her sister is named Treasurer.", "Her sister is called Treasurer."),
            ("She was called Home by her boss.", "She was named Home by her boss."),
        ),
    ),
    EditRow(
        "located",
        "*located* for *situated*",
        "of a thing, after *is* or *are*, before a preposition of place and a place; not *by*"
        " somebody",
        (("The inn is located near the river.", "The inn is situated near the river."),),
        (
            ("The thief was located in Rome by them.", "The thief was situated in Rome by them."),
            ("The inn is located near the river.", "The inn was located near the river."),
            ("The car is located in Rome by him.", "The car is situated in Rome by him."),
            ("The boy is located at noon.", "The boy is situated at noon."),
            ("The leak is located in an hour.", "The leak is situated in an hour."),
        ),
    ),
    EditRow(
        "contrary",
        "*unfair* for *not fair*; *possible* for *not impossible*; *wrong* for *not right*",
        "an attested pair with no middle between them (not *unpopular*, *unimportant*, *insecure*"
        " or *asleep*); *fair*, *clear* and *possible* of *that*, *it* or *this*, *alive* for *not"
        " dead* of *he* or *she*; said of the subject after a form of *be*, or with *will be*, at"
        " the end or before *to*, *with*, *about*, *where*, *for her* and similar words; *not"
        " sure* also before the subject of a clause, *not familiar* before *with*, *not right*,"
        " *not married* and others only at the end; no other negation except a *No* that answers,"
        " no *a*, *all*, *every*, *only* or *because*; no question that begins with its verb",
        (
            ("That's not fair.", "That's unfair."),
            ("It is not possible to swim there.", "It is impossible to swim there."),
            ("It is not impossible.", "It is possible."),
            ("That is not true.", "That is false."),
            ("She is not sure where to start.", "She is unsure where to start."),
            ("That will not be necessary.", "That will be unnecessary."),
            ("He is not being fair to them.", "He is being unfair to them."),
            ("I was not wrong.", "I was right."),
            ("I'm not sure what they eat.", "I'm uncertain what they eat."),
            ("He is not dead.", "He is alive."),
            ("It is not illegal.", "It is legal."),
            ("No, it's not possible.", "No, it's impossible."),
            ("I'm not sure they got it.", "I'm unsure they got it."),
            ("User is not familiar with it.", "User is unfamiliar with it."),
        ),
        (
            ("The truck was unloaded on Monday.", "The truck was not loaded on Monday."),
            ("Ben is careless with his keys.", "Ben does not care with his keys."),
            ("He was dismissed by everyone.", "He was not missed by everyone."),
            ("All seats are not available.", "All seats are unavailable."),
            ("She is not certain because of him.", "She is uncertain because of him."),
            ("It is not easy for her.", "It is uneasy for her."),
            ("It is invaluable to them.", "It is not valuable to them."),
            ("He is not unhappy with it.", "He is happy with it."),
            ("She is not always available.", "She is unavailable."),
            ("He is not not able to swim.", "He is not unable to swim."),
            ("Is it not possible to swim?", "Is it impossible to swim?"),
            ("That may not be necessary.", "That may be unnecessary."),
            ("It is not wrong to say it.", "It is right to say it."),
            ("It is not dead.", "It is alive."),
            ("The wine is not expensive.", "The wine is inexpensive."),
            ("She is not popular.", "She is unpopular."),
            ("He is not secure.", "He is insecure."),
            ("The weather is not fair.", "The weather is unfair."),
            ("He is not sure to win.", "He is unsure to win."),
            ("He is not healthy.", "He is unhealthy."),
            ("It is not important.", "It is unimportant."),
            ("It is not unusual.", "It is usual."),
            ("Her face is not familiar.", "Her face is unfamiliar."),
            ("He is not awake.", "He is asleep."),
            ("The goal is not being fair to them.", "The goal is being unfair to them."),
            ("The trick is not being visible.", "The trick is being invisible."),
            ("He is not married with children.", "He is unmarried with children."),
            ("He is not married to her.", "He is unmarried to her."),
            ("The set is not complete with it.", "The set is incomplete with it."),
            ("She is not true to him.", "She is false to him."),
            ("Her hair is not false.", "Her hair is true."),
            ("The road is not clear.", "The road is unclear."),
            ("She is not possible.", "She is impossible."),
            ("A doctor is not available.", "A doctor is unavailable."),
            ("It is not available for a week.", "It is unavailable for a week."),
            ("No room is not available.", "No room is unavailable."),
            ("No, not all are available.", "No, all are unavailable."),
            ("No, it's not possible.", "No, it's possible."),
            ("I'm not sure they got it.", "I'm sure they got it."),
            ("She is not certain to win.", "She is uncertain to win."),
        ),
    ),
    EditRow(
        "same",
        "*different* for *not the same*, *the same* for *not different*",
        "said of *it*, *that* or *this* after a form of *be*, or with *will be*, at the end of a"
        " sentence; no other negation, no *all*, *every*, *only* or *because*",
        (
            ("That's not the same.", "That's different."),
            ("It isn't the same.", "It is different."),
            ("That is not different.", "That is the same."),
        ),
        (
            ("He is not the same.", "He is different."),
            ("They are not the same.", "They are different."),
            ("It is not the same as hers.", "It is different from hers."),
            ("It is not the same for her.", "It is different for her."),
            ("That is not the same thing.", "That is a different thing."),
            ("It is not quite the same.", "It is quite different."),
            ("It is all the same.", "It is not different."),
            ("It may not be the same.", "It may be different."),
            ("It is not so different.", "It is the same."),
            ("It is not the same.", "It is not different."),
            ("Nobody says it is not the same.", "Nobody says it is different."),
            ("That one is not the same.", "That one is different."),
        ),
    ),
)  # fmt: skip
