"""English words that show whether a subject may be called by another name of its owner.

They license nothing for an owner without names; with names, the guard's hash covers them.
"""

from __future__ import annotations

from palimpsest.streams.guard.data import en

_REGULAR = frozenset(
    (
        "accept ache add admire adopt adore advise agree aim allow answer appear apply"
        " appreciate argue arrange arrive ask aspire assist assume attend avoid bake balance"
        " behave believe belong bike blame blog book borrow breathe brew brush budget call"
        " calm camp campaign cancel care carry celebrate change charge chat check chew clean"
        " climb coach code collect combine commute compare compete complain compose"
        " concentrate consider construct consult consume contribute convert cook copy correct"
        " count cover crave create criticise criticize cross cry cultivate cycle dance date"
        " decide declare decline decorate dedicate defend delay deliver demand deny depend"
        " deploy describe deserve design despise detest develop dine direct disagree dislike"
        " dismiss display distrust dive divide divorce donate doubt download dread dress dry"
        " dye earn edit educate embroider emigrate employ encourage enjoy enter entertain envy"
        " escape estimate examine exercise exist expect experience explain explore export"
        " express face fail farm fear ferment fill film finance finish fish fix focus fold"
        " follow foster freelance garden gather graduate guard guess guide handle happen hate"
        " help hike hire hope host hunt identify ignore imagine immigrate import improve"
        " include inherit insist inspect install instruct intend interview introduce invent"
        " invest invite iron join joke juggle kayak kick knock lack laugh launch lease lecture"
        " like limit listen live load lock log look love maintain major manage march mark"
        " marry massage master match matter measure meditate memorise memorize mention mentor"
        " migrate mind miss mix monitor mourn move multiply narrate need negotiate notice"
        " nurse obey object observe obtain offer open operate oppose order organise organize"
        " own pack paint park participate pass pause perform persuade photograph pick plant"
        " play polish possess post pour practice practise praise pray preach prepare"
        " present preserve press prevent print process produce promise promote"
        " pronounce propose protect protest prove provide publish pull punish purchase push"
        " question race rank rate reach realise realize receive recognise recognize recommend"
        " record recover recycle reduce refuse regret reject relate relax release rely remain"
        " remember remind remove renovate rent repair repeat replace reply report represent"
        " request require rescue research reserve respect respond rest restore retire return"
        " review roast row ruin sail save schedule search seem separate serve settle share"
        " shave shout shower sign skate ski smell smile smoke sneeze snore solve sound"
        " specialise specialize spell spray start stay stress stretch struggle study subscribe"
        " succeed suffer suggest supervise supply support suppose surf surprise survive"
        " suspect switch talk taste tend test text thank tolerate touch train transfer"
        " translate travel treat trust try turn tutor tweet twist type unlock update use value"
        " vape visit volunteer vote wait walk want warn wash waste watch water weigh welcome"
        " whisper wish wonder work worry worship wrestle yell"
        " abandon absorb bank accompany acquire adapt adjust advertise annoy apologise apologize"
        " appoint approach approve assemble assess assure attach attack attempt attract audit"
        " bathe benefit blend boil boost bother bounce button calculate capture carve cheat"
        " cheer choreograph classify collaborate color colour command communicate compile"
        " conclude conduct confess confirm confuse connect conserve consist contact continue"
        " cope counsel crash crochet curate debate delegate delete demonstrate detect"
        " diagnose disappear discover discuss distribute document dominate drill email"
        " embrace enable encounter engage ensure establish evaluate exhibit expand experiment"
        " facilitate favor favour file flirt forage forward gain gamble generate govern grill"
        " groom grumble harvest heal hesitate illustrate implement impress improvise"
        " incorporate indicate influence inform inject inspire insure integrate interpret"
        " invoice involve isolate judge jump kiss label launder lift loathe lodge manufacture"
        " market mediate merge mine mock model moderate modify motivate mow name navigate"
        " network notify nurture occupy paddle parachute patrol peel phone pilot pitch point"
        " predict prioritise prioritize progress puzzle quarrel queue quilt quote react"
        " recruit reflect rehearse reinforce relocate renew resemble resent resign resist"
        " resolve restock restrict reveal reward roam rush salute sample score screen sculpt"
        " secure select shelter sketch slice snack socialise socialize source sponsor sprint"
        " squeeze stammer stare steer stitch store strengthen stroll stutter summarise"
        " summarize surround swallow tackle tailor telephone tick tidy toast tour trace track"
        " trade transcribe transform transport upgrade upload utilise utilize vacuum"
        " ventilate visualise visualize wander whistle yawn"
        " dislocate fracture injure major sprain"
    ).split()
)
_IRREGULAR = frozenset(
    (
        "become begin bring build burn buy catch choose come deal dig do draw dream drink drive eat"
        " feed feel fight fly forget forgive freeze get give go grow hear hide hold jog keep"
        " know lead lean learn leave lend lose make mean meet nap owe pay plan prefer program rent"
        " refer ride rise run say see seek sell send sew shop sing sit skip sleep speak spend stand"
        " steal stop swim take teach tell think throw understand wake wear win write"
    ).split()
)
"""Verbs whose present differs from their past; not *put*: *I put* may be either."""

_AUXILIARIES = {
    "am": "is",
    "have": "has",
    "haven't": "hasn't",
    "do": "does",
    "don't": "doesn't",
}


def third(base: str) -> str:
    """The third person of a verb."""
    if base.endswith(("s", "sh", "ch", "x", "z", "o")):
        return base + "es"
    return base[:-1] + "ies" if _ends_in_consonant_y(base) else base + "s"


def _past(base: str) -> str:
    if base.endswith("e"):
        return base + "d"
    return base[:-1] + "ied" if _ends_in_consonant_y(base) else base + "ed"


def _ends_in_consonant_y(base: str) -> bool:
    return base.endswith("y") and base[-2] not in "aeiou"


THIRD = {base: third(base) for base in sorted(_REGULAR | _IRREGULAR)} | _AUXILIARIES
"""The third person of a verb, by its form after *I*."""

SAME = (
    (en.PASTS - {"found", "fell", "felt"})
    | frozenset(map(_past, _REGULAR))
    | frozenset("was wasn't had hadn't did didn't can can't cannot could couldn't".split())
    | frozenset(
        "will won't would wouldn't went became planned stopped preferred shopped tore".split()
    )
)
"""Forms of verbs that are the same after *I* and after a name.

None is the present of another verb (*I found firms*), and none says what ought to be: the user of a
requirement is nobody in particular.
"""

ADVERBS = frozenset(
    (
        "actually already also always currently especially finally frequently generally just longer"
        " mainly mostly never no normally now occasionally often only primarily probably rarely"
        " really recently regularly seldom sometimes still strongly typically usually"
    ).split()
)
"""What may stand between a subject and its verb."""

PLAIN = (
    en.STATES
    | en.PASTS
    | frozenset("is was has had doesn't didn't isn't wasn't".split())
    | frozenset(
        (
            "attends avoids becomes belongs brings buys creates deploys depends describes develops"
            " eats explains gets gives goes grows hears invests keeps learns listens loses"
            " maintains manages organises organizes participates pays performs publishes receives"
            " recommends remembers says sees seems sells sends sings spends suffers supervises"
            " swims teaches tells thinks understands wears writes"
        ).split()
    )
)
"""Verbs that, after *user*, cannot be nouns, as in *user tests* or *user needs*.

A note may begin with one and leave out who does it.
"""

NO_NOUNS = frozenset(
    map(
        third,
        (
            "accept add admire adopt adore agree allow apologise apologize appear apply"
            " appreciate argue arrange ask aspire assume bake behave believe belong borrow"
            " breathe celebrate choose collaborate collect compare compete complain compose"
            " consider consult consume contribute correct crave criticise criticize cultivate"
            " decide declare decorate dedicate defend deliver deny depend deserve despise detest"
            " dine disagree discuss dislike donate earn educate embroider emigrate employ"
            " encourage enter entertain examine exist expect explore express follow forget"
            " freelance gather happen identify ignore imagine immigrate improve include inherit"
            " insist inspect instruct insure intend introduce invent juggle lend loathe marry"
            " meditate memorise memorize migrate multiply narrate negotiate obey observe obtain"
            " operate oppose perform persuade possess pour practise pray preach prepare pretend"
            " prevent pronounce propose protect prove provide pursue realise realize recognise"
            " recognize recover rely remind remove renovate replace represent require reside"
            " respond restore retire seek settle socialise socialize specialise specialize"
            " subscribe succeed suggest suppose survive swear tend tolerate translate weigh"
            " worship last"
        ).split(),
    )
)
"""Verbs whose third person is not also a plural noun."""

FIRST_AND_SECOND = frozenset(
    "i me my mine myself we us our ours ourselves you your yours yourself yourselves".split()
)
"""Pronouns whose meaning depends on who speaks."""

PRONOUNS = FIRST_AND_SECOND | frozenset(
    (
        "he him his himself she her hers herself it its itself they them their theirs themselves"
        " themself one one's oneself"
    ).split()
)
"""Pronouns: if the subject is *I*, none of these means it; if it is a name, *she* may."""

OTHER_TIMES = en.PASTS | frozenset(
    (
        "backlit beat beset bet bid bit bled bore bound bred broadcast burst bust cast clad come"
        " cost crept cut dealt dove dreamt drew dug dwelt fed fit fled flew forecast fought froze"
        " ground hid hit hung hurt input knelt knit laid lay leant leapt lent let lit meant miscast"
        " misread offset outbid outgrew output overbid overcome podcast preset proofread put quit"
        " rang read recast recut refit rent reread reset retrofit rid rode rose run sank set shed"
        " shone shook shot shut simulcast slew slid slit smelt sought span spat sped spelt spilt"
        " spit split spoilt sprang spread spun squat stole stood strode struck stuck stung sublet"
        " sweat swept swore swung telecast threw thrust tore trod typecast typeset undercut upset"
        " wed wet withdrew woke wound wove wrought wrung"
    ).split()
)
"""Forms after *I* that are, or may be, past forms."""

NOT_VERBS = (
    en.CLAUSES
    | en.PREPOSITIONS
    | en.NEGATORS
    | en.QUANTIFIERS
    | en.AUXILIARIES
    | PRONOUNS
    | ADVERBS
    | frozenset(
        (
            "almost alone better either else even ever far first full here how instead less maybe"
            " more much once ought own perhaps pretty quite rather sad somehow soon sure then there"
            " therefore thus today together tomorrow tonight too twice very well whatever why"
            " yesterday"
        ).split()
    )
)
"""Words that may follow *I* but are not verbs, or whose third person has no *s*."""

PASSIVES = {
    "advises": "advised",
    "coaches": "coached",
    "employs": "employed",
    "insures": "insured",
    "maintains": "maintained",
    "manages": "managed",
    "mentors": "mentored",
    "represents": "represented",
    "sponsors": "sponsored",
    "supervises": "supervised",
    "supplies": "supplied",
    "treats": "treated",
    "tutors": "tutored",
}
"""Verbs for what lasts, with their participles: to be *supervised by* Bea is what *Bea supervises*
says. *Painted by* would say who did it once."""

USING = frozenset(
    (
        "buys cooks does drinks drives eats grows keeps listens paints plays prefers reads speaks"
        " takes teaches uses wears writes"
    ).split()
)
"""Verbs whose phrase of place or purpose may stand first: *For navigation Ada uses Waze*."""

IDIOMS = frozenset(
    (
        "at best|at first|at last|at least|at most|at worst|for certain|for example|for good"
        "|for instance|for now|for once|for real|for sure|in fact|in future|in general|in part"
        "|in practice|in reality|in short|in theory|in time|in truth|in turn|on average|on balance"
        "|on paper|on reflection|with luck|with time|without doubt"
    ).split("|")
)
"""Beginnings that say something about the sentence, not where or what for."""

DEPICTING = frozenset("draw draws paint paints".split())
"""Verbs whose object has a place and a time of its own: *paints fields in winter*."""

TELLING = frozenset("buys reads teaches writes".split())
"""Verbs whose object may be about a thing, or used on it: *writes books on trains*."""

PURPOSES = frozenset("for a living|for fun|for money|for pleasure|for work".split("|"))
"""What something is done for, and no thing is."""

COATS = frozenset("black brown ginger golden grey gray rescue tabby white young".split())
"""Words for what an animal looks like, or where it is from."""

NOTEBOOKS = frozenset(
    "Chromebook|EliteBook|IdeaPad|MacBook|MacBook Air|MacBook Pro|ThinkPad|ZenBook".split("|")
)
"""Makes of laptop, which nothing else is called."""

LASTING = frozenset("driving licence|identity card|passport|residence permit|visa".split("|"))
"""Papers that are valid until a day, on which they expire."""

DIPLOMAS = frozenset("certificate|degree|diploma|doctorate|PhD".split("|"))
"""What somebody who has passed exams holds."""

LIVESTOCK = frozenset(
    "beehives chickens cows ducks geese goats hens horses pigs ponies sheep turkeys".split()
)
"""Animals that somebody keeps: to keep six is to have them."""

FOODS = frozenset(
    (
        "anchovies|asparagus|aubergines|avocado|bananas|beans|beetroot|blue cheese|broccoli"
        "|Brussels sprouts|cabbage|capers|cauliflower|celery|cheese|chillies|cilantro|coconut"
        "|coriander|cucumber|eggs|fennel|fish|garlic|ginger|kale|lamb|lentils|liver|liquorice"
        "|marzipan|mayonnaise|mint|mushrooms|mustard|oatmeal|okra|olives|onions|oysters|parsley"
        "|peas|peppers|pineapple|porridge|raisins|rhubarb|seafood|spinach|tofu|tomatoes|tuna"
    ).split("|")
)
"""What somebody may hate, or be unable to stand."""

STATE_NOTES = frozenset(
    (
        "afraid of|allergic to|based in|born in|born on|employed by|engaged to|fluent in"
        "|interested in|married to|originally from|scared of"
    ).split("|")
)
"""Beginnings of notes that leave out who is so: *Allergic to nuts*."""

JOBS = frozenset({"job", "job title", "occupation", "profession"})
"""Labels for what somebody works as."""

NUMBERED = frozenset(
    (
        "account customer employee flight licence license member membership mobile passport phone"
        " policy reference registration student telephone"
    ).split()
)
"""What has a number: *membership no.* is *membership number*."""

PAYING = frozenset(
    (
        "allowance budget charge cost earn fee income owe pay pension price rate rent salary save"
        " spend"
    ).split()
)
"""Words beside which pounds are money, also with an *s*."""

SERVICES = frozenset(
    (
        "audit check-up checkup class consultation cut facial fitting haircut hour lesson manicure"
        " massage pedicure rehearsal repair session translation trim tuning tutorial valuation"
        " workshop"
    ).split()
)
"""What somebody does for money: others neither sell it nor pay for it together with them."""

WEIGHING = frozenset(
    (
        "baggage carries carry cut cuts diet diets drop drops gain gained gains heavy kilos lift"
        " lifted lifting lifts lose loses losing lost luggage shed sheds suitcase weigh weighing"
        " weighs weight weights"
    ).split()
)
"""Words beside which pounds may be a weight: *pays a trainer to lose 50 pounds*."""

WEIGHED = frozenset({"flour", "meat", "potatoes", "rice", "sugar"})
"""What is sold by weight: *an allowance of rice*."""

SPENDING = frozenset({"budget", "costs", "pay", "pays", "spend", "spends"})
"""Words beside which pounds are money even if they are spent on `WEIGHED`."""

DATED = frozenset(
    "anniversary appointment birthday deadline exam interview operation party wedding".split()
)
"""What takes place on a day: *is on 12 July* means the same as *is 12 July*."""

MEETINGS = frozenset(
    (
        "appointment appointments class classes exam exams lesson lessons meeting meetings"
        " rehearsal rehearsals shift shifts therapy training yoga"
    ).split()
)
"""What is had at a time: *On Mondays Ada has a meeting* means *Ada has a meeting on Mondays*."""

TIMES = frozenset(
    "january february march april may june july august september october november december monday"
    " tuesday wednesday thursday friday saturday sunday spring summer autumn winter christmas"
    " easter noel dawn".split()
)
"""Names that are also times: *May's rent is 900 euros*, *Summer was busy*."""

PLANTS = frozenset(
    "basil clover fern ginger hazel heather holly ivy jasmine lavender olive rosemary sage".split()
)
"""Names that are also plants, which like and prefer something, too: *Ivy likes shade*."""

PLACES = frozenset(
    (
        "adelaide alexandria asia austin brooklyn carolina chad charlotte chelsea china cuba dakota"
        " dallas denver florence geneva georgia houston india israel jordan kenya lincoln london"
        " madison malta memphis milan montana nevada orlando paris phoenix salem savannah sydney"
        " troy vienna victoria virginia"
    ).split()
)
"""Names that are also places: *Paris is expensive*."""

FIRMS_TOO = frozenset(
    (
        "alexa amber charity chase crystal duke honor honour lexus liberty mercedes ruby siri sky"
        " sterling trinity unity victory"
    ).split()
)
"""Names that are also firms, schools, programs or their products: *Chase is based in New York*."""

WORDS = (
    TIMES
    | PLANTS
    | PLACES
    | FIRMS_TOO
    | frozenset(
        (
            "angel archer aria art aspen baker baron bay bill bishop bliss blossom brandy brook"
            " buddy candy carol cash chance cherry clay cliff cooper coral daisy dale dean"
            " destiny earl echo eden faith felicity forest gem gene glen grace grant guy harmony"
            " heath honey hope hunter iris jade jay jewel joy judge justice king knight lark"
            " laurel lily major marina mason max melody mercy miles miracle ocean opal patience"
            " pearl penny pepper piper poppy precious primrose prince prudence rain raven reed"
            " river robin rose rusty saffron serenity sherry star storm sunny temperance verity"
            " viola violet will willow wren"
        ).split()
    )
)
"""Names that can be other words at the beginning of a sentence: *Grace is a virtue*."""

BELONGINGS = frozenset(
    (
        "age bike birthday bedroom car doctor email flat fiancé fiancée gp hair height home"
        " hometown house husband job laptop mobile monitor name phone salary surname truck van"
        " weight wife"
    ).split()
)
"""What only a person has, besides relatives and pets. A month has none of these, only a rent."""

PLANS = MEETINGS | frozenset("budget lunch major rent schedule trip wedding workout".split())
"""What a month may have, too: *May's rent*."""

PRAISE = frozenset(
    "bad best cruel excellent fine good great hard harsh perfect poor strict true wise".split()
)
"""What is said of *patience* or *hope* as a teacher or doctor."""

LIMITS = TIMES | {"max", "miles"}
"""Names that may be a date, a limit or a distance before a number: *Max is 10*."""

TASTES = frozenset("dislikes drinks eats enjoys hates likes loves prefers".split())
"""What only a person or a plant may do."""

KEYS_AND_DRUMS = frozenset("bass drums keyboard keyboards".split())
"""Instruments whose names are other words, too."""

DEEDS = frozenset(
    (
        "adopt attend become buy cook go learn live lose marry move quit read retire run save see"
        " sell start study swim travel visit volunteer work write"
    ).split()
)
"""What somebody wants or plans to do."""

TRANSPORT = frozenset("bus ferry metro subway train tram tube underground".split())
"""How somebody goes to work."""

AT_HOME = frozenset(
    {"lives", "live", "works", "work", "studies", "study", "is based", "am based"}
    | {"was born", "was raised", "grew up"}
)
"""What somebody does in one place: *X is where Ada works* means *Ada works in X*."""

ROLES = frozenset(
    (
        "accountant agent babysitter bookkeeper boss boyfriend childminder dad dentist doctor"
        " employer father fiancé fiancée GP girlfriend hairdresser husband landlady landlord lawyer"
        " manager mother mum mom nanny physiotherapist solicitor spouse supervisor therapist vet"
        " wife"
    ).split()
)
"""Roles that hardly more than one person has for another at a time: *wife*, *boss*, *dentist*."""

DOING = en.ACTIONS | frozenset(
    (
        "bakes bought broke calls cleans does exercises finished gardens goes graduated joined"
        " knits left married meditates met moved paints phones plays quit shops sprained tore"
        " tutors wears retired sold started teaches trains visited visits volunteers watches went"
        " won works hikes practises practices prefers takes"
    ).split()
)
"""Verbs of doing: a time anywhere in their sentence is the time of the deed."""

UNWILLING = frozenset(
    (
        "avoid avoids avoided avoiding dislike dislikes disliked hate hates hated quit refuse"
        " refuses refused stop stops stopped"
    ).split()
)
"""Verbs before which *every weekend* may mean only some weekends, as after *not*."""

UNEVEN = (UNWILLING | en.MORE) | frozenset(
    (
        "almost nearly sometimes occasionally often frequently"
        " unable fail fails failed lack lacks give gives gave tired sick complains worries dreads"
        " resents regrets"
        " least most increasingly gradually steadily another different same"
        " allowed able can could likes may might must needs only should wants would"
        " improves worsens grows shrinks rises falls increases decreases declines progresses"
    ).split()
)
"""Words with which *every weekend* may mean only some weekends, or each more than the one before:
*works less every weekend* is another fact than *works less on weekends*. *Can work every weekend*
may count each weekend."""

GOING = frozenset(
    "commutes cycles drives gets goes listens runs talks travels walks went writes".split()
)
"""Verbs after which *to* says where or to whom, not what is done: *goes to work every Monday*."""

OF_A_CLAUSE = frozenset(
    (
        "asked asks believes considers demands dreams feels hopes imagines knows lets mentions"
        " promises proposes recommends remembers requests requires says suggests tells thinks told"
        " wishes"
    ).split()
)
"""Verbs with a clause, which a time after it may belong to: *says Bob works every weekend*."""

OF_A_DAY = frozenset(
    (
        "about against bills blocks books cancels celebrates clears counts describes enjoys fears"
        " films for loves minds marks misses observes of organises organizes photographs plans"
        " records reviews saves schedules sells skips spends takes tracks uses values wastes"
        " watches"
    ).split()
)
"""Words whose object a day may be: *plans every weekend*, *is paid for every Sunday*."""

OF_DOING = frozenset(
    (
        "about advises advocates after against at before besides by comfortable despite encourages"
        " fancies fine finished for from happy in involves justifies means minds misses of on"
        " pictures risks supports than tried tries with worth"
    ).split()
)
"""Words before what is done, which a time after it may belong to: *minds working every Sunday*."""

COUNTING = (["have"], ["has"], ["had"], ["own"], ["keep"], ["with"])
"""Words after which *one* counts what follows."""

_OF_THINGS = frozenset(
    "becomes belongs depends deploys describes develops explains gives goes grows keeps loses"
    " maintains performs receives seems sells sends suffers".split()
)
OF_PROGRAMS = frozenset(
    (
        "accepts adds allows calculates compiles converts covers creates deletes detects displays"
        " enables ensures fits generates holds implements includes lists loads makes merges needs"
        " notifies opens prints removes replaces requires returns saves sends serves shows starts"
        " stops stores turns"
    ).split()
)
"""Verbs that begin notes on programs, recipes and devices: *Needs a password*."""
NOTED = (
    (PLAIN | {"dislikes"})
    - (en.PASTS | _OF_THINGS | OF_PROGRAMS)
    - frozenset("is was had doesn't didn't isn't wasn't".split())
)
"""Present verbs that may begin a note without a subject: *Lives in Rome*; not *Depends on Bob*."""

UNIQUE = frozenset(
    (
        "alma mater|birthday|blood group|blood type|date of birth|hometown|maiden name|middle name"
        "|mother tongue|nationality|first language|native language|shoe size|star sign|surname"
    ).split("|")
)
"""What everybody has one of."""

LARGEST = frozenset(
    (
        "best biggest closest dearest eldest fastest greatest largest latest longest main nearest"
        " newest oldest shortest smallest strongest tallest weakest worst youngest"
    ).split()
)
"""Words that make a thing the only one of its kind."""

COMMON = frozenset(
    (
        "animal beverage breakfast cake cheese class color colour cuisine dance dessert"
        " dish drink exercise flavor flavour flower food fruit genre hobby ingredient instrument"
        " meal meat pastime pet pizza topping season snack spice sport subject tree vegetable"
    ).split()
)
"""Kinds of things whose names are common nouns: a capital shows only where the sentence begins."""

PEOPLE = frozenset(
    (
        "aunt brother cousin daughter father friend grandfather grandmother granddaughter grandson"
        " husband mother mum mom nephew niece sister son uncle wife"
    ).split()
)
"""Words for people who live in a place that is *home to* them."""

RELATED = PEOPLE | frozenset(
    (
        "boss boyfriend child children colleague flatmate friends girlfriend grandchildren manager"
        " neighbor neighbour parents partner roommate"
    ).split()
)
"""Words for people who are *the owner's*: what is said of them is no fact about the owner."""

ALLERGENS = {
    word: word
    for word in (
        "amoxicillin aspirin celery codeine dust fish garlic gluten grass ibuprofen lactose latex"
        " milk mould mustard nickel penicillin pollen sesame shellfish shrimp soy wheat wool"
    ).split()
} | {
    word: f"{word[:-1]}ies" if word.endswith("y") else word + "s"
    for word in (
        "almond apple banana bee cashew cat dog egg hazelnut horse kiwi nut peanut pecan pineapple"
        " strawberry walnut wasp"
    ).split()
}
"""What somebody is allergic to, by the word before *allergy*."""

ILLNESSES = frozenset(
    (
        "anaemia anemia arthritis asthma depression diabetes eczema epilepsy fibromyalgia glaucoma"
        " gout insomnia migraines osteoporosis psoriasis rosacea sciatica tinnitus vertigo"
    ).split()
)
"""Illnesses: to have one is to suffer from it."""

AILING = {
    "asthmatic": "asthma",
    "colour-blind": "colour blindness",
    "diabetic": "diabetes",
    "epileptic": "epilepsy",
}
"""Adjectives for somebody who has an illness, with the illness."""

MEDICINES = frozenset(
    (
        "amlodipine atorvastatin citalopram escitalopram fluoxetine gabapentin insulin"
        " levothyroxine lisinopril lithium losartan metformin methotrexate omeprazole ramipril"
        " sertraline simvastatin statins thyroxine warfarin"
    ).split()
)
"""Medicines: to be *on* one is to take it."""

REMEDIES = frozenset(
    (
        "antibiotic antibiotics antidepressant antidepressants antihistamine antihistamines aspirin"
        " codeine drops ibuprofen injections medication medications medicine morphine naproxen"
        " painkiller painkillers paracetamol penicillin pill pills prednisone steroids supplement"
        " supplements tablet tablets"
    ).split()
)
"""What else is taken for an ailment, besides `MEDICINES`."""

WILLING = frozenset(
    "aim aims decided going hope hopes intend intends like need needs plan planning plans want"
    " wants".split()
)
"""Words before *to* and what somebody wants to do or has to do."""

FALLING = frozenset({"crashed", "fell", "slipped", "tripped"})
"""What happens to somebody who then breaks an arm."""

FEARS = frozenset(
    (
        "bats|bees|birds|cats|clowns|dentists|dogs|falling|fire|flying|heights|mice|needles|rats"
        "|sharks|snakes|spiders|the dark|thunder|thunderstorms|wasps"
    ).split("|")
)
"""Things for which *they scare me*, *I fear them* and *I am afraid of them* mean the same."""

MEALS = frozenset("breakfast dinner lunch supper".split())
"""Meals: to eat something for one is to *have* it for that meal."""

FIRMS = frozenset(
    (
        "airport|bakery|bank|bookshop|brewery|café|care home|charity|clinic|college|company|factory"
        "|garage|garden centre|gym|hospital|hotel|insurance company|kindergarten|law firm|library"
        "|museum|nursery|nursing home|office|pharmacy|practice|primary school|prison|pub"
        "|publisher|restaurant|school|secondary school|shop|start-up|startup|supermarket|theatre"
        "|university|zoo"
    ).split("|")
)
"""Where somebody works, in words without a capital."""

THINGS = frozenset(
    (
        "bicycle bike boat camera car guitar keyboard laptop motorbike motorcycle phone piano"
        " printer scooter tablet truck van watch TV"
    ).split()
)
"""Things that are called by their make: *Ada's laptop is a ThinkPad*."""

HABITS = frozenset("drinks eats jogs journals meditates stretches".split())
"""Verbs of habits: after these, *in the morning* does not mean the next morning."""

PLANNING = {"planning": "plans", "hoping": "hopes", "intending": "intends"}
"""Verbs whose progressive form means the same as the plain one."""

INTENDING = frozenset({"aims", "hopes", "intends", "plans"})
"""Verbs that, before *to* and another verb, say what somebody intends."""

AGENTS = {
    "admirer of": "admires",
    "coach of": "coaches",
    "believer in": "believes in",
    "collector of": "collects",
    "grower of": "grows",
    r"illustrator of(?= [a-z' ]+s\Z)": "illustrates",
    "keeper of(?! the)": "keeps",
    "maintainer of": "maintains",
    "mentor to": "mentors",
    r"reader of(?= [a-z' ]+s\Z)": "reads",
    "subscriber to": "subscribes to",
    "user of": "uses",
    "volunteer at": "volunteers at",
    "volunteer for": "volunteers for",
}
"""Nouns for somebody who does something, as patterns, with what they do."""

_OFTEN = frozenset("daily every once twice".split())
GAMES = frozenset(
    (
        "badminton baseball basketball bridge chess cricket football golf handball hockey padel"
        " poker rugby soccer squash tennis volleyball"
    ).split()
)
"""What is played."""

PRACTISED = frozenset("aikido judo karate pilates taekwondo yoga".split())
"""Activities: to practise one is to do it."""

KEPT_UP = frozenset("drinking smoking vaping".split())
"""Habits: to quit one, to give it up and to stop it are the same."""

SUBJECTS = frozenset(
    (
        "accounting architecture art biology chemistry economics engineering history law"
        " mathematics maths medicine music nursing philosophy physics psychology"
    ).split()
)
"""What is studied for years: to be studying it is to study it."""

VERBAL = {
    "can't": frozenset({"bear", "stand"}),
    "banks": frozenset({"with"}),
    "comes": frozenset({"from"}),
    "commutes": frozenset({"by", "to"}),
    "draws": frozenset({"on", "with"}),
    "dreams": frozenset({"of"}),
    "graduated": frozenset({"from"}),
    "majored": frozenset({"in"}),
    "majors": frozenset({"in"}),
    "plays": en.INSTRUMENTS | GAMES | KEYS_AND_DRUMS,
    "practices": PRACTISED,
    "quit": KEPT_UP,
    "reads": frozenset({"about"}),
    "runs": _OFTEN,
    "sleeps": frozenset({"badly", "late", "well"}),
    "starts": frozenset({"school", "work"}),
    "stopped": KEPT_UP,
    "studied": SUBJECTS,
    "swims": _OFTEN,
    "trained": frozenset({"as"}),
    "volunteers": frozenset({"at", "for", "with"}),
    "wakes": frozenset({"up"}),
    "works": frozenset("as at day for from full-time night nights part-time remotely".split()),
}
"""Words that could be plural nouns after *user*, with what shows that they are verbs."""

TRANSITIVE = frozenset("drinks grows takes".split())
"""Words that are verbs after *user*, unless a preposition or a verb follows them."""

_ANIMALS = (
    "beagle budgie canary cat chihuahua collie dachshund dog donkey ferret gecko gerbil goat"
    " greyhound hamster hen horse kitten labrador lizard parrot pony poodle puppy rabbit spaniel"
    " terrier tortoise whippet"
).split()
PETS = frozenset(_ANIMALS) | {f"{it[:-1]}ies" if it[-1] == "y" else it + "s" for it in _ANIMALS}
"""Animals: to have one is to own it."""

TAME = frozenset("cat cats dog dogs hamster hamsters kitten parrot parrots puppy".split())
"""Animals that are always pets when somebody has them."""

TRADES = frozenset(
    (
        "actuary anaesthetist archaeologist auditor biochemist biologist cardiologist caretaker"
        " chemist copywriter decorator dietitian driver economist geologist glazier interpreter"
        " joiner locksmith nutritionist optometrist osteopath paediatrician physicist plasterer"
        " radiologist SRE statistician tester tiler translator tuner underwriter vet welder"
        " accountant administrator analyst architect barista barrister bartender bookkeeper"
        " bricklayer butcher carpenter cashier chef clerk consultant dentist designer developer"
        " director doctor electrician engineer firefighter hairdresser instructor journalist"
        " lawyer lecturer librarian manager mechanic midwife nurse optician paralegal paramedic"
        " pharmacist physiotherapist plumber postman professor programmer psychiatrist"
        " psychologist radiographer receptionist recruiter researcher roofer scientist secretary"
        " solicitor surgeon surveyor teacher technician therapist veterinarian waiter waitress"
    ).split()
)
"""Trades that nobody has as a hobby: to be one is to work as one."""

APPOINTED = frozenset(
    (
        "ambassador beneficiary candidate captain chair chairman champion culprit delegate deputy"
        " director executor finalist guardian heir heiress king leader minister nominee predecessor"
        " president queen replacement successor suspect trustee victim winner witness"
    ).split()
)
"""Those whom others name: *is named Bob* says more than *is called Bob*."""

OFFICES = frozenset(
    (
        "Archbishop Bishop Boy Brigadier Cardinal Chairwoman Chancellor Commodore Constable"
        " Corporal Councillor Curate Deacon Detective Girl Head Imam Maid Man Pastor Pope Prefect"
        " Priest Principal Private Provost Rabbi Vicar Warden"
    ).split()
) | frozenset(word.capitalize() for word in TRADES | APPOINTED | en.TITLES | en.COUNTED - en.THINGS)
"""Ranks, offices and trades, written like names."""

BEFORE_AN_OFFICE = frozenset(
    (
        "Acting Assistant Associate Best Chief Deputy First Group Head Honorary Junior Lady"
        " Lieutenant Lord Prime Senior Team Vice"
    ).split()
)
"""Words before a rank or an office: *Head Girl*, *Vice President*."""

NOT_CALLED = OFFICES | frozenset(
    (
        "Aboriginal Afghan Afrikaner African Algerian American Anglican Apache Arab Asian"
        " Aussie Austrian Bahraini Bangladeshi Basque Bengali Berber Berliner Black Bosniak"
        " Brit British Brummie Bulgarian Cajun Catalan Chilean Cornish Creole Croat Cuban Cypriot"
        " Czech Danish Dubliner Dutch Emirati English Eritrean European Fijian Filipina"
        " Filipino Finnish Flemish French Frisian Gambian Geordie German Greek Gujarati Gypsy"
        " Haitian Hausa Hawaiian Hispanic Hmong Hungarian Icelander Icelandic Igbo Inuit Iraqi"
        " Irish Israeli Jamaican Jewish Kashmiri Kazakh Kenyan Korean Kurd Kurdish Kuwaiti Kyrgyz"
        " Lankan Lao Latina Latino Latinx Libyan Londoner Luxembourger Magyar Malay Malayali Maori"
        " Manx Marathi Mexican Mohawk Mongol Moroccan Māori Navajo Nepali Norman Oromo Omani"
        " Pakistani Pashtun Pole Polish Punjabi Qatari Rican Roma Roman Romani Rwandan Salvadoran"
        " Samoan Saudi Scot Scots Scottish Scouse Serb Serbian Sicilian Sioux Slovak Slovene"
        " Somali Spaniard Spanish Swede Swedish Swiss Syrian Tahitian Tajik Tamil Telugu Texan"
        " Thai Tibetan Tongan Tunisian Turk Turkish Turkmen Tuscan Ugandan Uighur Uyghur Uzbek"
        " Welsh Xhosa Yankee Yemeni Yoruba Zambian Zealander Zulu"
        " Adventist Agnostic Amish Bahai Catholic Evangelical Hasidic Hindu Jain Jew Lutheran"
        " Mormon Muslim Orthodox Pagan Pentecostal Protestant Quaker Rasta Shia Shiite Sikh Sufi"
        " Sunni Wiccan"
        " Conservative Dem Democrat Green Labour Left Leaver Liberal Progressive Remainer"
        " Republican Right Tory Whig"
        " Aquarius Aries Cancer Capricorn Gemini Libra Pisces Sagittarius Scorpio Taurus Virgo"
        " Gryffindor Hufflepuff Ravenclaw Slytherin"
        " Army Arsenal Celtic Everton Liverpool Mafia Management Marines Mensa Military Navy"
        " Police Rangers Security Staff United"
        " Alone Angry Asexual Away Autistic Bi Bipolar Bisexual Blind Blonde Boomer Busy Celibate"
        " Clever Dead Deaf Deceased Depressed Diabetic Disabled Divorced Dyslexic Engaged Family"
        " Fine Free Funny Gay Gifted Goth Happy Healthy Here Home Homeless Ill Late Lesbian"
        " Married Millennial Missing Nice Nonbinary Old Pansexual Pregnant Punk Queer Quiet Ready"
        " Retired Sick Single Sober Straight Strict Tall There Tired Trans Unemployed Vegan"
        " Vegetarian Well Widowed Young"
        " Batman Cinderella Dracula Hamlet Macbeth Santa Spiderman Superman"
        " Anybody Anyone Everybody Everyone Nobody Somebody Someone"
    ).split()
)
"""Words that can be said of somebody without being their name: *Ada's brother is Christian*.

Words in *-ese*, *-ist* and *-ian* are not listed.
"""

IN_IAN = frozenset(
    (
        "Adrian Aurelian Bastian Brian Caspian Cassian Cillian Cristian Cyprian Damian Darian"
        " Demian Dorian Emilian Fabian Finian Florian Gillian Hadrian Jillian Julian Kilian"
        " Killian Kristian Krystian Kylian Lilian Lillian Lucian Marian Maximilian Octavian"
        " Sebastian Tristian Valerian Vivian"
    ).split()
)
"""Names in *-ian* that describe nobody."""

BEFORE_A_PEOPLE = frozenset(
    (
        "Central Costa East Eastern El Equatorial Far Greek Hong Latin Lib Middle Native New North"
        " Northern Northwestern Pacific Puerto Saudi Sierra South Southern Sri West Western"
    ).split()
)
"""Words before what somebody is, such as *South African* or *Lib Dem*."""

LIVING = (RELATED | ROLES | en.PERSONS | en.QUANTIFIERS | en.POSSESSIVES | PRONOUNS) | frozenset(
    "people others men women boys girls kids ever before usual the".split()
)
"""Words for those who like something themselves, and words before them."""

PERHAPS_YOUNGER = frozenset("adult elder grown-up little older teenage twin younger".split())
"""Adjectives of relatives who are counted."""

COUNTED = frozenset(
    (
        "brothers children cousins daughters granddaughters grandchildren grandsons kids nephews"
        " nieces siblings sisters sons stepchildren"
    ).split()
)
"""Relatives who are counted."""

SEVERAL = COUNTED | frozenset(
    "classes exams finals grandparents lessons meetings parents rehearsals sessions shifts".split()
)
"""Words in the plural after which the verb has no *s*: *my exams start*."""

OUTDOORS = {
    "camping": "camps",
    "climbing": "climbs",
    "cycling": "cycles",
    "fishing": "fishes",
    "hiking": "hikes",
    "jogging": "jogs",
    "running": "runs",
    "sailing": "sails",
    "skiing": "skis",
    "surfing": "surfs",
    "swimming": "swims",
}
"""Activities after *goes*, with their verbs: to go swimming is to swim."""

AILMENTS = ILLNESSES | frozenset(
    "allergies ankle back cholesterol headaches heart hip knee nerves pain shoulder thyroid".split()
)
"""What medicine is taken for: in *takes ibuprofen for her back*, *her* is the subject."""

TOOLS = frozenset(
    "browser calendar editor keyboard laptop notebook phone shell tablet tabletop terminal".split()
)
"""Tools: in *uses Vim as her editor*, *her* is the subject."""

LIMBS = frozenset("ACL ankle arm collarbone elbow hamstring knee leg shoulder toe wrist".split())
"""What somebody breaks or sprains: in *sprained her ankle*, *her* nearly always is the subject."""

HOMES = frozenset("backyard balcony bedroom garage garden home house kitchen yard".split())
"""Parts of a home."""

SKILLS = frozenset(
    (
        "bake code cook crochet cycle dance drive draw fish fly garden juggle knit paint play"
        " program read ride sail sew sing ski skate speak surf swim type write"
    ).split()
)
"""What somebody learns to do; to learn how to do it is the same."""

PASTIMES = {
    "baking": "bake",
    "camping": "camp",
    "collecting": "collect",
    "cooking": "cook",
    "cycling": "cycle",
    "dancing": "dance",
    "drawing": "draw",
    "driving": "drive",
    "exploring": "explore",
    "fishing": "fish",
    "flying": "fly",
    "gardening": "garden",
    "going": "go",
    "growing": "grow",
    "hiking": "hike",
    "knitting": "knit",
    "listening": "listen",
    "making": "make",
    "meeting": "meet",
    "painting": "paint",
    "playing": "play",
    "reading": "read",
    "sailing": "sail",
    "singing": "sing",
    "spending": "spend",
    "surfing": "surf",
    "swimming": "swim",
    "travelling": "travel",
    "traveling": "travel",
    "trying": "try",
    "walking": "walk",
    "watching": "watch",
    "working": "work",
    "writing": "write",
}
"""What somebody likes doing; to like to do it is the same."""

DONE = {
    verb: frozenset(nouns.split())
    for verb, nouns in (
        ("baking", "bagels biscuits bread brownies cakes cookies muffins pastries pies pizza"),
        ("collecting", "art books coins comics postcards records shells stamps vinyl watches"),
        ("cooking", "curries curry dinner food lunch meals pasta risotto soups stews"),
        ("drawing", "animals cartoons comics faces landscapes people portraits"),
        ("flying", "kites"),
        ("growing", "basil carrots flowers herbs mint roses tomatoes vegetables"),
        ("knitting", "hats jumpers scarves socks sweaters"),
        ("meeting", "friends people"),
        ("painting", "landscapes people portraits watercolors watercolours"),
        (
            "playing",
            " ".join(("bass drums games guitar music piano sports violin", *sorted(GAMES))),
        ),
        ("reading", "biographies books comics fiction manga newspapers novels poems poetry"),
        ("singing", "alto bass jazz karaoke opera soprano tenor"),
        ("spending", "time"),
        ("writing", "code fiction letters novels poems poetry songs stories"),
    )
}
"""What is done in a pastime. Any other noun may be described by it: *cooking apples* are apples."""

NEVER_DESCRIBING = frozenset("going listening making watching".split())
"""Pastimes whose words in *-ing* describe no noun."""

OFTEN_DONE = frozenset(
    "abroad again alone early fast home late outdoors outside remotely together".split()
)
"""Adverbs that may follow a pastime."""

DRINKS = frozenset(
    (
        "ale beer champagne cider cocktails cocoa coffee cola espresso gin juice lattes lemonade"
        " milk rum soda tea whiskey whisky wine"
    ).split()
)
"""What is drunk; *drinking water* and *drinking games* are other things."""

CROSSING = frozenset(
    (
        "argument arguments authority break bridge bridges chat chats control conversation"
        " conversations day days debate debates discussion discussions dispute disputes drive"
        " fight fights fireworks flight hour hours influence leave minutes months path paths"
        " payments power quarrels ride road roads room rooms route routes rule savings talk"
        " talks tour victories victory view views walk war wars way ways week weeks win window"
        " windows wins worries years"
    ).split()
)
"""Nouns after which *over* may say where, when or whom: *roads over Rome*, *leave over May*."""

OUTINGS = frozenset(
    (
        "breaks drives flights hike hikes holiday holidays journey journeys rides runs tours"
        " trip trips vacation vacations walks"
    ).split()
)
"""What is made *over* a time or a place. Two of them are ranked: *walks over runs*."""

SKIES = frozenset(
    ("clouds fog mist rain rainbows skies snow stars sunrise sunrises sunset sunsets").split()
)
"""What is seen *over* a place."""

HELD = frozenset(
    (
        "appointment appointments call calls class classes coaching consultation consultations"
        " dates deals game games interview interviews lecture lectures lesson lessons meeting"
        " meetings parties seminar seminars session sessions therapy tutorial tutorials visit"
        " visits webinars workshop workshops"
    ).split()
)
"""What takes place *over* something: *meetings over lunch*."""

CURRENCIES = frozenset(
    (
        "crowns dinars dirhams dollars euros francs kroner kronor lei lira pesos pounds rand reais"
        " riyals rubles rupees shillings won yen yuan złoty zloty"
    ).split()
)
"""What is paid: *charges 40 francs an hour*; *charges 3 phones a day* is about batteries."""

MAILED = frozenset("email emails letter letters mail phone post".split())
"""How somebody is told something, but not *over* a medium."""

WRITTEN = MAILED | frozenset("message messages text texts voicemail".split())
"""How somebody is told something."""

MEDIA = frozenset(
    (
        "Discord FaceTime Messenger Signal Skype Slack Teams Telegram Viber WeChat WhatsApp Zoom"
        " headphones internet loudspeakers phone radio speakers video"
    ).split()
)
"""What people speak *over*."""

FEASTS = frozenset(
    (
        "Carnival Christmas Diwali Easter Eid Eve Halloween Hanukkah Passover Ramadan Thanksgiving"
        " Year Year's"
    ).split()
)
"""Days *over* which something is done."""

SPANS = frozenset(
    (
        "time|years|the border|the counter|the day|the holidays|the night|the summer|the week"
        "|the weekend|the winter|the year|the years"
    ).split("|")
)
"""What follows *over* if it says when or where."""

POURED = frozenset("cream custard dressing gravy icing ketchup sauce sprinkles syrup".split())
"""What is eaten *over* something."""

WORN = frozenset(
    (
        "blazers cardigans coats hoodies jackets jumpers ponchos scarves shawls sweaters vests"
        " waistcoats"
    ).split()
)
"""What is worn *over* something."""

HUNG = frozenset("mirrors paintings pictures posters".split())
"""What hangs *over* something."""

ANIMATE = (
    frozenset(
        (
            "critics fans footballers accountants adults ants apes babies bankers bats bears"
            " beavers bees birds boars bulls butterflies camels caterpillars chickens cows crows"
            " deer dolphins doves ducks eagles elephants fathers flies foxes frogs geese giraffes"
            " goats gorillas grandparents guests hares hedgehogs hippos horses husbands hyenas"
            " kangaroos kings koalas ladies leopards lions lizards locals lovers magpies mice"
            " mothers monkeys mosquitoes moths otters owls pandas parrots penguins pensioners"
            " pigeons pigs pirates politicians rats ravens robins sailors seagulls seals sharks"
            " sheep slugs snails snakes sparrows spiders squirrels swans teenagers teens tigers"
            " toddlers tourists tortoises turtles twins vegans vegetarians vultures wasps whales"
            " wives wolves worms zebras"
        ).split()
    )
    | PETS
    | LIVESTOCK
) - {"beehives"}
"""Animals and people, who like something themselves: *likes meat more than lions*."""

PROTOCOLS = frozenset(
    (
        "5G Bluetooth Ethernet HDMI HTTP HTTPS IP LTE SOAP SSH TCP TLS Tor UDP USB VPN Wi-Fi WiFi"
        " cable fibre http https ssh wifi"
    ).split()
)
"""What runs *over* each other: *Git over SSH*. Two of them are ranked: *SSH over HTTPS*."""

STAPLES = frozenset(
    (
        "bread cereal coals couscous crackers ice noodles oatmeal pasta porridge potatoes quinoa"
        " rice toast yoghurt yogurt"
    ).split()
)
"""What something is eaten *over*: *coffee over ice*. Two of them are ranked: *rice over pasta*."""

TITLED = frozenset(
    (
        "Again Analyst Architect Assistant Captain City Consultant Coordinator Designer Developer"
        " Director Engineer Executive Inspector Lead Leader Lieutenant Manager Minister Nurse"
        " Officer President Producer Professor Rovers Scientist Scout Secretary Sergeant Specialist"
        " Supervisor Teacher Therapist United Wanderers Witness"
    ).split()
)
"""Last words of what somebody is, which is no surname: *Product Manager*, *Leeds United*."""
