"""German. Months and weekdays are those of CLDR; *Sie* is a form of address as well."""

from __future__ import annotations

from palimpsest.streams.guard.data.language_table import EditPairs, language_table

TABLE = language_table(
    "de",
    words=(
        "der die das und ist nicht ein eine einen einem einer eines er es wir mit von zu auf "
        "für im am beim dem den des sich auch noch oder aber wenn dass wird wurde haben hat "
        "war sind mein meine seit nach über bei aus kein keine keinen keiner nie niemals um "
        "zum zur durch gegen ohne vor unter zwischen jeden jeder jede jedes alle nur schon "
        "immer ich du sie ihr ihre seine sein mich dich uns euch ihm ihn ihnen in an bis als "
        "wie hier dort sehr gern gerne mag wohnt lebt heißt trinkt isst arbeitet spielt "
        "spricht kommt geht heute gestern morgen"
    ),
    numbers=(
        "zwei=2 drei=3 vier=4 fünf=5 sechs=6 sieben=7 acht=8 neun=9 zehn=10 elf=11 zwölf=12 "
        "zwanzig=20 dreißig=30 vierzig=40 fünfzig=50"
    ),
    number_parts=(
        "hundert tausend million millionen milliarde milliarden komma und uhr mal halb "
        "viertel minus plus abteilung bahn block bus etage gleis halle haus kapitel klasse linie"
        " gruppe hausnummer nummer raum saal schicht staffel wohnung"
        " zimmer reihe seite station stock stufe tor tram zone zug"
    ),
    months=(
        "januar jan jänner",
        "februar feb",
        "märz mär",
        "april apr",
        "mai",
        "juni jun",
        "juli jul",
        "august aug",
        "september sep sept",
        "oktober okt",
        "november nov",
        "dezember dez",
    ),
    days=(
        "montag",
        "dienstag",
        "mittwoch",
        "donnerstag",
        "freitag",
        "samstag sonnabend",
        "sonntag",
    ),
    negators=(
        "nicht kein keine keinen keinem keiner keines nie niemals nichts niemand weder ohne "
        "nirgends kaum"
    ),
    starts="ich wir mein meine der die das ein eine am im jeden seit er es",
    edits={
        "number": EditPairs(
            passes=(
                ("Ada hat drei Hunde und eine Katze.", "Ada hat 3 Hunde und eine Katze."),
                ("Ich wohne seit zwei Jahren in Bonn", "Ich wohne seit 2 Jahren in Bonn."),
                ("Ada hat zwei Hunde.", "Ada hat 2 Hunde"),
                ("Ada hat acht Hunde und eine Katze.", "Ada hat 8 Hunde und eine Katze."),
                ("Er heißt Jan und hat zwei Hunde.", "Er heißt Jan und hat 2 Hunde."),
                (
                    "Sein Name ist Jan und er ist fünf Jahre alt.",
                    "Sein Name ist Jan und er ist 5 Jahre alt.",
                ),
                ("Ada mag die zwei kleinen Hunde.", "Ada mag die 2 kleinen Hunde."),
                ("Die drei Katzen mag sie nicht.", "Die 3 Katzen mag sie nicht."),
                ("Sie hat fünf sehr gute Freunde.", "Sie hat 5 sehr gute Freunde."),
                ("Die zwei jüngsten Kinder sind bei ihr.", "Die 2 jüngsten Kinder sind bei ihr."),
            ),
            fails=(
                ("Ada hat drei Hunde.", "Ada hat 4 Hunde."),
                ("Er hat zwei Millionen Euro.", "Er hat 2 Euro."),
                ("Er hat zwei Millionen Euro.", "Er hat 2 Millionen Euro."),
                ("Er wohnt im Hotel Vier Jahreszeiten.", "Er wohnt im Hotel 4 Jahreszeiten."),
                ("Sie mag die drei Katzen nicht.", "Sie mag die 3 Katzen."),
                ("Wir kommen um drei Uhr.", "Wir kommen um 3 Uhr."),
                ("Der Film heißt drei.", "Der Film heißt 3."),
                ("Er gibt acht auf sie", "Er gibt 8 auf sie"),
                ("Er nimmt sich in acht vor ihr", "Er nimmt sich in 8 vor ihr"),
                ("Er fährt mit Linie drei Stunden.", "Er fährt mit Linie 3 Stunden."),
                ("Er liegt in Zimmer drei Tage.", "Er liegt in Zimmer 3 Tage."),
                ("Sie gibt acht Kindern und ihm.", "Sie gibt 8 Kindern und ihm."),
                ("Sie hat acht auf die Kinder.", "Sie hat 8 auf die Kinder."),
                ("Die Kinder sieben Sand und essen.", "Die Kinder 7 Sand und essen."),
                ("Sie liegt in Bett fünf Tage.", "Sie liegt in Bett 5 Tage."),
                ("Er ist mit Windows elf Jahre und mehr.", "Er ist mit Windows 11 Jahre und mehr."),
                ("Die elf spielt nicht gut.", "Die 11 spielt nicht gut."),
                ("Die Band heißt zwei Hunde.", "Die Band heißt 2 Hunde."),
                ("Ihr Team heißt die vier Raben.", "Ihr Team heißt die 4 Raben."),
                ("Ihre Band nennt sich die vier Raben.", "Ihre Band nennt sich die 4 Raben."),
                ("Der Name der Band ist drei Hunde.", "Der Name der Band ist 3 Hunde."),
                ("Meine Antwort ist zwei Hunde.", "Meine Antwort ist 2 Hunde."),
                ("Die drei lieben sie nicht.", "Die 3 lieben sie nicht."),
                ("Die zwei mag sie nicht.", "Die 2 mag sie nicht."),
                ("Die drei kennen Ada und ihn nicht.", "Die 3 kennen Ada und ihn nicht."),
                ("Diese vier habe ich nie gern.", "Diese 4 habe ich nie gern."),
                ("Die fünf gefallen Ada nicht.", "Die 5 gefallen Ada nicht."),
                ("Ich und du sieben Mehl und Zucker.", "Ich und du 7 Mehl und Zucker."),
                (
                    "Sie lässt außer acht Kindern alle gehen.",
                    "Sie lässt außer 8 Kindern alle gehen.",
                ),
            ),
        ),
        "month": EditPairs(
            passes=(("Er ist am 3. Jan. 1990 geboren.", "Er ist am 3. Januar 1990 geboren."),),
            fails=(
                ("Er ist am 3. Jan. geboren.", "Er ist am 3. Juni geboren."),
                ("Sie arbeitet mit Jan in Bonn.", "Sie arbeitet mit Januar in Bonn."),
                ("Sie trifft am 3. Jan in Bonn.", "Sie trifft am 3. Januar in Bonn."),
            ),
        ),
        "start": EditPairs(
            passes=(("mein Bruder wohnt in Bonn.", "Mein Bruder wohnt in Bonn."),),
            fails=(
                ("sie wohnt mit ihm in Bonn", "Sie wohnt mit ihm in Bonn"),
                ("Das ist der Weg nach Hause.", "Das ist der weg nach Hause."),
                ("mein Bruder wohnt in Bonn.", "Mein Bruder wohnt nicht in Bonn."),
            ),
        ),
    },
)
"""What the guard knows of German."""
