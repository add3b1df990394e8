"""English: the words that the edits of the table know, each list for one use."""

from __future__ import annotations

Phrases = tuple[tuple[tuple[str, ...], ...], ...]
"""Phrases that stand for each other, in groups; a phrase is its words."""


def _words(*lines: str) -> frozenset[str]:
    return frozenset(" ".join(lines).split())


def _groups(*lines: str) -> Phrases:
    return tuple(tuple(tuple(p.split()) for p in line.split("/")) for line in lines)


LOANS = _words(
    "café cafés naïve cliché clichés fiancé fiancée façade crème brûlée jalapeño résumé déjà"
    " entrée soufflé sauté née décor protégé touché"
)
"""English words that are written with other letters than a to z."""

# -- nouns -----------------------------------------------------------------------------------------

PERSONS = _words(
    "boy girl child kid man woman person baby baker butcher farmer gardener waiter waitress"
    " plumber carpenter electrician mechanic dentist engineer scientist programmer developer"
    " lawyer writer painter musician singer dancer actor actress teacher student librarian"
    " soldier sailor photographer designer architect accountant journalist violinist pianist"
    " cellist drummer monk nun neighbour neighbor tourist cyclist swimmer runner skier surfer"
    " skateboarder"
)
"""People that can be counted; no relatives, and no word that is also a common verb."""

THINGS = _words(
    "dog cat puppy kitten horse cow pig goat hen rabbit parrot hamster pony donkey bird animal"
    " tortoise frog elephant giraffe zebra monkey bear tiger lion wolf squirrel pigeon"
    " mill inn hotel restaurant pub cafe café museum library theater theatre cinema bakery"
    " pharmacy supermarket shop garage cottage villa castle tower bridge lake river stream pond"
    " pool hill mountain valley island beach forest garden park field farm village town city"
    " building church station airport harbour harbor street road"
    " bicycle bike car lorry truck van motorcycle motorbike scooter tractor boat canoe kayak"
    " helicopter airplane aeroplane tent caravan"
    " lamp sofa couch chair armchair desk bookshelf wardrobe cupboard mirror carpet rug curtain"
    " pillow blanket cushion bathtub sink toilet oven stove microwave fridge refrigerator freezer"
    " dishwasher kettle toaster teapot cup mug bowl bottle spoon knife basket bucket suitcase"
    " backpack umbrella hat jacket sweater jumper scarf shirt skirt coat raincoat"
    " computer laptop camera printer keyboard monitor tablet telephone television radio"
    " piano guitar cello violin flute trumpet clarinet saxophone accordion harp ukulele banjo"
    " trombone oboe harmonica viola drum"
    " door window balcony terrace fireplace staircase fence gate wall yard lawn tree bush flower"
    " banana pizza sandwich pancake pineapple cookie"
    " ball kite skateboard surfboard snowboard racquet helmet bench sign statue fountain"
    " flag candle toy doll puzzle box object pole table platform"
)
"""Things and animals that can be counted and seen."""

COUNTED = _words(
    "barber baker butcher carpenter electrician mechanic dentist engineer scientist programmer"
    " developer lawyer writer painter musician singer dancer actor actress teacher student"
    " librarian soldier sailor photographer designer architect accountant journalist violinist"
    " pianist cellist drummer monk nun"
    " cottage villa castle bicycle bike car lorry truck tractor boat canoe kayak helicopter caravan"
    " sofa couch armchair desk bookshelf wardrobe fridge refrigerator dishwasher kettle toaster"
    " suitcase backpack umbrella laptop keyboard skateboard surfboard snowboard helmet"
)
"""Nouns that name one thing after *is* or *has* even without article: no animal or material."""
INSTRUMENTS = _words(
    "piano guitar cello violin flute trumpet clarinet saxophone accordion harp ukulele banjo"
    " trombone oboe viola"
)
LITTLE_ONES = _words(
    "girl boy child kid dog puppy cat kitten boat car truck bike house cottage"
    " town village river lake island road park table bench tent group band baby"
    " fence hill hole stream shovel crowd object umbrella"
)
"""Nouns before which *little* means small; with other nouns it may be an amount or affection."""

LARGE_THINGS = THINGS - _words(
    "cat city church pizza sandwich pancake cookie banana cup mug bottle bowl hat jacket sweater"
    " jumper scarf shirt skirt coat raincoat helmet"
)
"""Things for which *large* means the same as *big*: not *cat*, and nothing sold in sizes."""
GROUPS = _words(
    "band family crowd group country team herd flock hole piece fire bit stage shovel whistle train"
    " plane toilet pot plate tray glass boot shoe bag wallet key pen pencil ring necklace present"
    " vase painting picture photo office kitchen bathroom bedroom room apartment flat"
    " stone rock leaf"
    " fish bee spider snake mouse rat duck swan chicken insect cake apple egg tomato potato child"
    " male female lady guy fellow fan store stall kiosk stadium harbor ship ferry bus island"
) - {"bit", "fire"}
"""Groups and things that can be somewhere, but that nobody stands beside."""

SEEN = PERSONS | THINGS | GROUPS | {"people"}
"""People and things that can be somewhere."""

CAPTIONED = (
    PERSONS
    | THINGS
    | _words(
        "group pair couple family crowd herd flock people men women boys girls children kids"
        " dogs cats"
        " horses zebras giraffes elephants sheep cows bears birds surfers skiers players"
    )
)
"""What a picture may show: the main noun of a caption's subject."""

COLOURS = _words(
    "black white red blue green yellow brown pink purple orange grey gray silver golden"
)
PLAIN_ADJECTIVES = COLOURS | _words(
    "new old big large small little huge tiny young tall short long round square wooden metal"
    " plastic empty modern beautiful pretty lovely nice cheap expensive blond blonde cute heavy"
    " yellow dirty clean grassy busy muddy quiet city dirt"
)
"""Adjectives that may stand between an article and its noun."""

DETERMINERS = _words("a an the this that my your his her its our their")
POSSESSIVES = _words("my your his her its our their")

# -- verbs -----------------------------------------------------------------------------------------

BE = _words("is are was were am 's 're 'm")
AUXILIARIES = _words(
    "is are was were am be been being has have had do does did will would can could may might"
    " shall should must isn't aren't wasn't weren't hasn't haven't hadn't don't doesn't didn't"
    " won't wouldn't can't cannot couldn't shouldn't mustn't"
)

STATES = _words("likes loves has is wants prefers lives enjoys hates owns speaks knows believes")
"""Verbs in the third person that cannot be mistaken for a plural noun."""

PASTS = _words(
    "began bought broke brought built caught chose came did drank drove fell felt forgot found gave"
    " got grew had heard held kept knew learnt led left lost made met paid ran said sang saw sold"
    " sent slept spent spoke swam taught told took thought won wore wrote"
)
"""Irregular past forms that are not also present forms."""

ACTIONS = _words(
    "drinks drank eats ate swims swam walks walked runs ran sleeps slept cooks cooked cycles cycled"
    " jogs jogged dances danced sings sang skis skied drives drove"
)
"""Verbs of doing: a time anywhere in their sentence is the time of the deed."""

SHOWN = _words(
    "standing sitting walking running riding holding wearing eating drinking sleeping lying laying"
    " playing jumping swimming looking watching talking reading smiling carrying throwing catching"
    " flying skiing surfing snowboarding skateboarding swinging posing cooking driving grazing"
    " floating hanging leaning pulling pushing kicking hitting working relaxing laughing singing"
    " dancing climbing crossing waiting resting brushing cutting making taking using feeding"
    " chasing performing preparing"
)
"""What a captioned subject is seen doing: *is* before these adds nothing."""

FINITE = (
    AUXILIARIES
    | STATES
    | ACTIONS
    | _words(
        "said says told tells asked thinks thought knew went goes came comes saw sees made"
        " makes took"
        " takes gave gives got gets left leaves kept keeps put puts let lets fell falls sat"
        " sits stood"
        " stands lay lies hung hangs wore wears held holds rode rides ran runs threw throws caught"
        " catches flew flies hit hits kicked kicks jumped jumps played plays worked works watched"
        " watches looked looks talked talks read reads wrote writes met meets found finds"
        " bought buys"
        " sold sells paid pays won wins lost loses broke breaks cut cuts died dies fired hired"
    )
)
"""Forms that can be a sentence's verb, which a caption does not have."""

# -- words around ----------------------------------------------------------------------------------

PARTICIPLES = PASTS | _words(
    "beaten bitten born broken chosen done drawn driven drunk eaten fallen flown forgotten frozen"
    " given grown hidden known seen shown spoken stolen sung sunk swollen taken thrown torn worn"
    " written"
)
"""Forms that may describe a noun before them, so that a time after them is theirs: *cars built in
2019*."""

PREPOSITIONS = _words(
    "in on at of by for with from to into onto near beside behind under over above below between"
    " among around through across along during after before outside against toward towards"
    " without"
)
PLACING = _words("in on at near beside behind under underneath inside outside above below against")
"""Prepositions that say where a captioned subject is, or what it has."""

CLAUSES = _words(
    "and or but nor yet so who whom whose which that because when while where if although though"
    " unless whereas as since until than"
)
"""Words that show that a sentence has several clauses or items."""
JOINING = CLAUSES - _words("who whom whose which that where than so")
"""What joins a clause to another one; *so no one will see her glasses* is about people."""

NEGATORS = _words(
    "not no never none nobody nothing nowhere neither nor without hardly barely scarcely rarely"
    " seldom cannot"
)
QUANTIFIERS = _words(
    "all every each both everyone everybody everything everywhere many most few several some any"
    " anyone anything only just always often sometimes usually because since half"
)
"""Words whose scope a *not* beside a verb can change."""

SUBJECTS = _words("i he she it we you they")
AFTER_A_NOUN = PREPOSITIONS | FINITE | CLAUSES | SHOWN | SUBJECTS
"""What may follow a noun that is not followed by another noun."""
ABBREVIATIONS = _words("mr mrs ms dr prof st vs no fig sr jr mt ave approx dept est etc")
"""Abbreviations: a full stop after one does not end a sentence."""

# -- contractions ----------------------------------------------------------------------------------

CONTRACTED: dict[str, tuple[str, ...]] = (
    {f"{stem}n't": (stem, "not") for stem in (
        "do does did is are was were has have had could should would must need".split()
    )}
    | {"can't": ("cannot",), "won't": ("will", "not"), "i'm": ("i", "am")}
    | {f"{who}'re": (who, "are") for who in ("you", "we", "they")}
    | {f"{who}'ve": (who, "have") for who in ("i", "you", "we", "they")}
    | {f"{who}'ll": (who, "will") for who in ("i", "you", "he", "she", "it", "we", "they")}
)  # fmt: skip
"""Contractions that stand for one thing only."""

BARE: dict[str, str] = {
    form.replace("'", ""): form
    for form in "don't doesn't didn't isn't aren't wasn't hasn't haven't couldn't wouldn't".split()
}
"""Contractions typed without their apostrophe, if that is not a word of its own."""

IS_OR_HAS: dict[str, str] = {f"{who}'s": who for who in ("he", "she", "it", "that", "there")}
"""Contractions that stand for *is* or *has*: what follows decides."""

AFTER_IS = (
    PLAIN_ADJECTIVES
    | SHOWN
    | _words(
        "a an the in on at from not very too so really happy glad sad tired ill sick hungry afraid"
        " late early ready busy sure raining snowing true fair possible important"
    )
)
"""What can follow *is* but not *has*; a *not* before it is skipped."""

# -- spelling and synonyms -------------------------------------------------------------------------

SPELLINGS: tuple[tuple[str, str], ...] = tuple(
    (one, other)
    for line in """
    color colour | colors colours | colored coloured | favorite favourite | favorites favourites
    | gray grey | theater theatre | theaters theatres | flavor flavour | flavors flavours
    | neighbor neighbour | neighbors neighbours | neighborhood neighbourhood | honor honour
    | humor humour | rumor rumour | behavior behaviour | harbor harbour | organize organise
    | organizes organises | organized organised | realize realise | realizes realises
    | realized realised | recognize recognise | recognizes recognises | recognized recognised
    | apologize apologise | apologized apologised | traveler traveller | travelers travellers
    | traveling travelling | traveled travelled | jewelry jewellery | pajamas pyjamas
    | mustache moustache | yogurt yoghurt | donut doughnut | donuts doughnuts | canceled cancelled
    | canceling cancelling | cozy cosy | skeptical sceptical | cafe café | airplane aeroplane
    | airplanes aeroplanes | specialize specialise | specializes specialises | email e-mail
    | emails e-mails
    """.split("|")
    for one, other in [line.split()]
)
"""British and American spellings of one word, neither of which is another word."""

SIZES = _groups("small/little/tiny")
LARGE = _groups("big/large", "huge/enormous/gigantic")
NEAR = _groups("near/close to", "beside/next to")
NOUNS = _groups(
    "mother/mom/mum", "father/dad", "couch/sofa", "fridge/refrigerator", "photo/photograph",
    "photos/photographs", "kids/children", "tv/television", "grandmother/grandma",
    "grandfather/grandpa",
)  # fmt: skip
BODIES = _groups("nobody/no one", "somebody/someone", "everybody/everyone", "anybody/anyone")
STREETS = _groups("street/road")
HAPPY = _groups("happy/glad/pleased/delighted/joyful")
DAILY = _groups("daily/every day", "weekly/every week", "monthly/every month")
QUICKLY = _groups("quickly/rapidly", "maybe/perhaps")
BOUGHT = _groups("bought/purchased")
NAMED = _groups("called/named")
LOCATED = _groups("located/situated")

HYPHENED = _words(
    "family-friendly kid-friendly child-friendly well-known part-time full-time second-hand"
    " long-term short-term high-quality low-cost left-handed right-handed gluten-free sugar-free"
)
"""Compounds that mean the same as two words."""

COMPLEMENTS: dict[str, str] = {
    "un" + base: base
    for base in (
        "available able necessary aware true fair sure certain safe stable reliable usual clear"
        " familiar acceptable ready official lawful married conscious"
    ).split()
} | dict(
    pair.split("/")
    for pair in (
        "impossible/possible imperfect/perfect incorrect/correct incomplete/complete"
        " inaccurate/accurate inadequate/adequate inappropriate/appropriate"
        " insufficient/sufficient invisible/visible illogical/logical irrelevant/relevant"
        " illegal/legal"
    ).split()
)
"""Contraries by a prefix, with nothing in between; not *unpopular*: one may be neither."""

OPPOSITES = frozenset(
    {
        ("false", "true"), ("wrong", "right"), ("wrong", "correct"), ("incorrect", "right"),
        ("closed", "open"), ("shut", "open"), ("dead", "alive"), ("uncertain", "sure"),
    }
)  # fmt: skip
"""Pairs of words, one of which is always true."""

TWOFOLD = _words(
    "possible available necessary able aware true fair complete correct visible relevant official"
    " perfect logical certain sure stable ready legal"
)
"""Words with nothing between them and their contrary, so that *not un-* means the word itself."""

NUMBERS: dict[str, str] = {
    word: str(value)
    for value, word in enumerate(
        "two three four five six seven eight nine ten eleven twelve".split(), 2
    )
} | {"twenty": "20", "thirty": "30", "forty": "40", "fifty": "50"}  # fmt: skip
"""Numbers that are written in words as often as in figures; *one* is a pronoun as well."""

# -- times and measures ----------------------------------------------------------------------------

WEEKDAYS = _words("monday tuesday wednesday thursday friday saturday sunday")
MONTHS = _words("january february april june july september october november december")
"""Months whose names are not also other words."""
DAYTIMES = _words("morning afternoon evening")
CAPITALISED = WEEKDAYS | MONTHS | {day + "s" for day in WEEKDAYS}
"""Words that are capitalised wherever they stand."""

SAYING = _words(
    "say says said think thinks thought know knows knew hope hopes feel feels guess believe so now"
    " then today but"
)
"""Words after which *i* is the pronoun."""
CONCERNING = _words(
    "regarding concerning considering excluding including following according barring pending owing"
    " lacking touching failing saving"
)
"""Prepositions in *-ing*."""
AFTER_DOING = DETERMINERS | PREPOSITIONS | NUMBERS.keys() | {"about", "out", "up", "off", "down"}
"""What may follow a verb in *-ing*; a noun may belong to it: *driving instructor*."""
COUNTS = _words("likes loves hates wants")
"""Verbs of state that are also plural nouns."""
BEFORE_A_NUMBER = (
    DETERMINERS
    | PREPOSITIONS
    | CLAUSES
    | SUBJECTS
    | _words("all another any both every first last next only other past these those top up eat")
    | _words(
        "need needs want wants own owns bring brings buy drive earn feed feeds grow grows keep"
    )
    | _words(
        "learn meet owe owes pay raise raises read ride run see sell share shares spend spends"
    )
    | _words("takes teach teaches weigh weighs write cost costs drink visit visits speak speaks")
    | _words("adopt adopts employ employs collect collects lift lifts contain contains")
) - {"that"}
"""Words whose number counts what follows. After any other word it may be a label: *plan two*."""
WEIGHING = _words("weigh weighs weighed weighing weight born baby")
ALSO_NAMES = _words("gray grey honor honour")
"""Words with two spellings that are also names, which a text in small letters does not show."""

DATING = _words("on since until till from to by before after of for born")
"""Words that a date may follow."""
RANGING = _words("to till until through")
"""Words that make the date before them the beginning of a range: *from 2 May to 9*."""

MEASURES = _words(
    "km kg cm mm kilometer kilometers kilometre kilometres meter meters metre metres mile miles"
    " kilogram kilograms gram grams pound pounds liter liters litre litres dollar dollars euro"
    " euros cent cents usd eur gbp percent"
)
"""Units and currencies before which a number is a quantity; 2.10 hours can be ten past two."""
SPACED = _words("km kg cm mm")
"""Units written without a space after the number as often as with one."""
RELEASES = _words(
    "app build chapter clause driver figure firmware item kernel library model paragraph release"
    " router rule section step table version"
)
"""Words before the number of a version or a section, whose zeros count."""

# -- what bars an edit -----------------------------------------------------------------------------

ARTICLES = _words("a an the")

CAPTION_STARTS = _words("a an one two three four five six several some")
NO_CAPTION = FINITE | CLAUSES | NEGATORS
"""Words that a caption does not have, except for the *is* that may be left out."""

PLURALS = _words("children people men women feet teeth mice geese sheep")
OF_SEVERAL = PLURALS | NUMBERS.keys() | _words("all any both each every few many most several some")
"""Words that show that a text is about several things."""
NUMBER_PARTS = frozenset(NUMBERS) | _words(
    "point minus plus hundred thousand million billion twenty thirty forty fifty sixty seventy"
    " eighty ninety one number no page chapter room section class apartment block box building bus"
    " exit flat floor gate grade lane level line lot part phase platform route row seat stage step"
    " table terminal track train tram type unit volume ward zone bay cabin car cell court day desk"
    " dorm group house hut lab lap office pill shift site studio team week channel dock episode"
    " game item lesson option pier question round season stop task tower year"
)
"""Words beside which a number is part of another number, or a label."""

RELATIVES = _words("son daughter wife husband brother sister father mother child widow")
"""Relatives for whom *the*, before *of*, adds nothing."""

PERSONAL = _words("i you he she we they")
KIN = _words("mother mom mum father dad grandmother grandma grandfather grandpa")
"""Relatives, if they are somebody's: *the father of the church* is not a *dad*."""
LOOKS = _words("look looks looked looking seem seems seemed")
FEELS = _words("is are am was were feel feels felt")
SOMEBODY = PERSONS | _words("he she people kids children guy lady clown bride mom performers")
FEELING = SOMEBODY | PERSONAL | _words("who and dog dogs cat")
"""Subjects for which *very happy* means *very glad*: not a film or an ending."""
PRINTED = _words(
    "read reads reading edit edits edited editing publish publishes published publishing print"
    " prints printed printing found founds founded own owns owned sell sells sold write writes"
    " wrote writing magazine newspaper"
)
"""What is done with papers: *a fashion weekly*, *a daily*."""
NAMESAKES = _words("april may june august jan jun dec march mar")
"""Months that are also people's names or other words: *before 10 June came home*."""
MORE = _words(
    "more less better worse fewer faster slower longer shorter later earlier harder further farther"
    " sooner louder quieter higher lower deeper stronger weaker fitter lighter bigger larger"
    " smaller older younger taller thinner fatter warmer colder hotter cooler calmer nicer cheaper"
    " closer nearer newer richer poorer safer sweeter brighter darker greater wider smarter"
    " bolder braver duller fairer fonder gentler harsher keener kinder looser madder"
    " milder paler prouder quicker rougher ruder sadder sharper smoother softer steeper thicker"
    " tighter tougher wilder wiser"
)
"""Comparatives: *eats less every day* may mean less than the day before."""
COMPARED = MORE | _words("bi semi half almost nearly but")
"""Words that, before *daily*, make a comparison or a compound."""
BEARING = _words("had has have having birth born gave delivered expecting bore")
"""What is said of births."""
FAR_FROM_PLACES = _words(
    "deadline deal death decision fortune goal king limit minister president queen record"
    " retirement saint sale senator solution team teams victory war win hours minutes days weeks"
    " months years miles kilometers kilometres percent times"
)
"""What somebody may be close to without being near it: persons of power, aims, amounts."""
RANKED = _words(
    "best most least worst favourite favorite largest biggest smallest finest hardest easiest list"
    " rank ranking queue alphabet order age favour favor price speed menu more"
)
"""Words in whose texts *next to* may mean *second to*."""
OBJECTS = _words("me you him her it us them")
AT_AN_END = frozenset({"", ".", "!"})
AFTER_A_PREDICATE = AT_AN_END | _words("to for with about where how what why whether if ?")
CLOSERS: dict[str, frozenset[str]] = (
    dict.fromkeys(
        "married perfect complete false dead right wrong shut closed open".split(), AT_AN_END
    )
    | dict.fromkeys(
        "sure unsure certain uncertain".split(),
        AFTER_A_PREDICATE - {"to", "for", "with"} | SUBJECTS | _words("that when who which"),
    )
    | {"true": AFTER_A_PREDICATE - {"to"}, "familiar": frozenset({"with"})}
)
"""What may follow these words, instead of `AFTER_A_PREDICATE` for all others.

Somebody *not married with children* is not *unmarried with children*.
"""
IMPERSONAL = _words("that it this")
ALIVE = _words("he she i you")
SAID_OF: dict[str, frozenset[str]] = dict.fromkeys(
    ("fair", "clear", "false", "possible"), IMPERSONAL
) | {"right": IMPERSONAL | PERSONAL | {"something"}, "dead": ALIVE}
"""Subjects for which a word and its contrary exclude each other; nobody is *not possible*."""
KIDS = _words("girl boy child kid baby girls boys kids")
SIZED_AFTER = _words("a the one two three four several last")
WANTED = ("wanted", "to")
FUTURE = _words("will would")
PLAYING = _words("play plays played playing learn learns learned learnt practises practices")
HAVING = _words("is was has had owns bought")
EATING = _words(
    "eat eats ate eaten eating cook cooks cooked cooking taste tastes tasted tasting stew roast"
    " fried grilled"
)
PARTICLES = _words("up out off away back down along by over in on about around through")
"""Words that may belong to the verb before them: *slept in*, *ran over*."""
INTENSIFIERS = _words("very so really extremely")

PLACED = SHOWN | _words(
    "stands stand sits sit lies lie runs run walks walk sleeps sleep plays play floats float waits"
    " wait lives live works work parks parked stood sat lay ran walked slept played swims swim"
    " outside"
)
"""Verbs of posture and motion: after them *close to* is about a place, not about affection."""
BEFORE_SEEN = _words("is are and with in ,")
"""Words before something seen: not a verb that it could be the object of."""
COUPLES = frozenset(
    (
        "adam/eve antigua/barbuda arts/crafts bacon/eggs bangers/mash barnes/noble bed/breakfast"
        " black/decker black/white bonnie/clyde bosnia/herzegovina bread/butter brighton/hove"
        " cheese/crackers cheese/onion cookies/cream country/western dolce/gabbana drum/bass"
        " ernst/young fish/chips food/drink gin/tonic ham/cheese ham/eggs health/safety"
        " johnson/johnson law/order mac/cheese macaroni/cheese marks/spencer meat/potatoes"
        " abercrombie/fitch bubble/squeak cops/robbers crime/punishment cup/saucer"
        " dungeons/dragons mint/chip oil/vinegar pride/prejudice sausage/mash scotch/soda"
        " sense/sensibility smith/wesson snakes/ladders steak/kidney surf/turf war/peace"
        " newfoundland/labrador pen/paper procter/gamble research/development rhythm/blues"
        " rice/beans rock/roll romeo/juliet rum/coke salt/pepper salt/vinegar simon/garfunkel"
        " ashford/simpson batman/robin beauty/beast beavis/butthead belle/sebastian ben/jerry"
        " bert/ernie brooks/dunn cagney/lacey chip/dale florence/machine hall/oates hansel/gretel"
        " harold/maude jekyll/hyde laurel/hardy lewis/clark lilo/stitch"
        " penn/teller paul/mary punch/judy rick/morty rodgers/hammerstein sacco/vanzetti"
        " salt/pepa sam/dave samson/delilah sonny/cher starsky/hutch stills/nash"
        " tegan/sara thelma/louise tristan/isolde victoria/albert wallace/gromit will/grace"
        " wind/fire"
        " sweet/sour terms/conditions tom/jerry trial/error trinidad/tobago turks/caicos tyne/wear"
    ).split()
)
"""Two words with *and* that may be a single thing: the comma makes two of them."""
GOATS = _words("goat goats goat's goats' doe does nanny herd farm barn hens milks")
"""Animals that have kids."""
NAMED_BY_OWNERS = (
    (THINGS | RELATIVES | KIN | GROUPS | LITTLE_ONES)
    | _words("friend uncle aunt cousin nephew niece grandson granddaughter")
) - {"bit", "fire"}
"""What *is named* somebody: a captain, an heir or a suspect may be named by others."""
TITLES = _words(
    "admiral ambassador boss captain chairman chief coach colonel commander deputy director doctor"
    " duke general governor inspector judge king lieutenant major manager master mayor minister"
    " president prince princess professor queen secretary senator sergeant sheriff sir treasurer"
)
"""What somebody *is called* who is *named* otherwise; a dog has no title."""
YOUNG = _words("girl boy kid girls boys kids")
KIDS_ACT = SHOWN - {"watching", "chasing", "holding", "feeding"} | _words(
    "showing selling turning having hugging teasing helping balancing tries crys smiles climbs"
    " poses spins dislikes"
)
"""What children do, and nobody does with them: not *watching*, as in *girl watching*."""
STILL = _words("standing floating performing wearing looking trying dressed")
"""What anything small does, and nobody does with it: not *walking*, as in *dog walking*."""
STREET_VERBS = _words(
    "standing stands stand sitting sits sit walking walks walk running runs run riding rides ride"
    " dancing dances dance"
)
"""What people do in a street without living there or touring."""
BESIDE = _words("near beside")
FIGURATIVE = _words("long short new old big great")
"""Adjectives that may make a road a metaphor: *a long road to peace*."""
NO_NAMES = (
    DETERMINERS
    | STATES
    | SHOWN
    | frozenset(NUMBERS)
    | _words("he she they we you there these those")
    | _words("user some any every each both not nobody everybody everyone someone with without")
    | _words("what where when how while because although never always people children hangs")
) - {"reading", "two", "four"}
"""Words that are never a name or an acronym, even with capitals."""
INDEFINITE = _words("a an some two three four several many")
CROSSING = _words("across crossing cross crosses crossed")
ALONG = _words("down up along")
INTO = _words("in on through")

PLACED_WORDS = _words("located situated positioned")
THINGS_IN_ING = _words(
    "building thing morning evening king ring wing string spring ceiling clothing during something"
    " anything nothing everything wedding painting meeting drawing setting sibling sterling being"
    " beginning ending feeling meaning saying interesting boring amazing missing charming willing"
    " training housing banking parking engineering"
)
"""Words in *-ing* that are not something seen being done."""

VERBATIM = _words(
    "spell spells spelled spelt spelling username password passwords passphrase passcode codeword"
    " watchword login hashtag quote quotes quoted quotation typed types wording motto slogan lyrics"
    " lyric passkey headline heading caption subtitle tattoo inscription sticker epitaph prompt"
    " translation rhyme rhymes riddle commit"
    " usernames passphrases passcodes codewords logins hashtags mottos slogans passkeys captions"
    " safeword safewords nickname nicknames callsign callsigns gamertag gamertags alias aliases"
    " tagline taglines catchphrase catchphrases mantra mnemonic ssid hostname palindrome anagram"
    " engraved engraving inscribed tattooed tattoos"
)
"""Words that show that a text may be about a spelling: then no edit is licensed."""
VERBATIM_PHRASES = tuple(
    f" {phrase}"
    for phrase in (
        "answer to|answers to|code name|code phrase|code word|keyword is|pin code|pin is|pin was"
        "|pins are|licence plate|license plate|number plate|recovery phrase|registration plate"
        "|safe word|secret answer|secret code|secret phrase|secret question|secret word"
        "|security answer|security code|security phrase|security question|seed phrase|subject line"
        "|trigger phrase|trigger word|wake word|wi-fi name|wifi name|network name"
    ).split("|")
)
"""Words in a row that show the same, as they follow a space."""
SIGNS = _words(
    "badge banner board bracelet cap card cup doormat hat hoodie jersey keyring label magnet mat"
    " mug note plaque plate poster ring screen shirt sign t-shirt wristband"
)
"""What words are written on: *the sign on her door says three dogs*."""
MENTIONS = VERBATIM | _words(
    "word words handle variable column branch file folder key tag label keyword title setting"
    " option flag parameter named call called calls name names term terms set css class function"
    " method module package command script query regex pattern bucket topic channel repo repository"
    " database schema endpoint subdomain domain slug token enum constant identifier surname clue"
    " answer secret text"
)
"""Words that show that a text may be about a word as such: then no other word means the same."""
NAMING = _words("called named titled entitled dubbed christened")
"""Words before a name."""
OF_NAMES = _words(
    "name names word words phrase code codes hint answer title label tag keyword combination"
)
"""What is one name or wording: a number may be a part of it, as in *her user name is two dogs*."""
MEASURED = _words("ago apart away early late long old wide tall high deep")
"""What follows a quantity: *the code review is two hours long*."""
SOCIAL = _words("church village town city farm")
"""What people may be close to without being near it."""

# -- what edits change -----------------------------------------------------------------------------

_PHRASES = SIZES + LARGE + NEAR + NOUNS + BODIES + STREETS + HAPPY + DAILY + QUICKLY
_PHRASES += BOUGHT + NAMED + LOCATED
CHANGED = (
    _words(". 。 ． ｡ । ۔ , the a an user is are that which who not be being")
    | _words(*(word for group in _PHRASES for phrase in group for word in phrase))
    | _words(*CONTRACTED, *(word for full in CONTRACTED.values() for word in full))
    | _words(*BARE, *IS_OR_HAS, *IS_OR_HAS.values(), *PLACED_WORDS, *NUMBERS, *SPACED)
    | _words(*(word for pair in SPELLINGS for word in pair))
    | _words(*HYPHENED, *(compound.replace("-", " ") for compound in HYPHENED))
    | _words(*COMPLEMENTS, *COMPLEMENTS.values(), *(word for pair in OPPOSITES for word in pair))
    | _words("dead alive same different")
)
"""Every word and sign that an edit drops, adds or exchanges.

Texts that differ in any other one are not near-identical. Numbers are compared by value.
"""
