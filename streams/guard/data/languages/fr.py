"""French. Months and weekdays are those of CLDR. *neuf* and *sept* are other words as well."""

from __future__ import annotations

from palimpsest.streams.guard.data.language_table import EditPairs, language_table

TABLE = language_table(
    "fr",
    words=(
        "j'ai le la les du des de un une et est sont dans pour pas ne avec sur par au aux ce cette "
        "ces il elle ils elles nous vous je tu mon ma mes ton ta son sa ses leur leurs qui "
        "que dont où mais donc été être avoir a ai ont en à y depuis chez jamais rien aucun "
        "aucune sans très plus tous toutes chaque quand comme aime habite vit boit mange "
        "travaille parle joue hier demain ans"
    ),
    numbers=(
        "deux=2 trois=3 quatre=4 cinq=5 six=6 sept=7 huit=8 dix=10 onze=11 douze=12 vingt=20 "
        "trente=30 quarante=40 cinquante=50"
    ),
    number_parts=(
        "cent cents mille million millions milliard milliards virgule et heures heure fois "
        "demi moins plus vingts au bâtiment bureau cellule équipe"
        " groupe chambre classe ligne niveau numéro page porte quai salle tome"
        " voie zone"
    ),
    months=(
        "janvier janv",
        "février févr",
        "mars",
        "avril avr",
        "mai",
        "juin",
        "juillet juil",
        "août",
        "septembre sept",
        "octobre oct",
        "novembre nov",
        "décembre déc",
    ),
    days=("lundi", "mardi", "mercredi", "jeudi", "vendredi", "samedi", "dimanche"),
    negators="ne pas jamais rien aucun aucune sans personne ni guère nul nulle non",
    starts="je nous mon ma mes les un une il elles ils depuis chaque",
    edits={
        "number": EditPairs(
            passes=(
                ("Ada a trois chiens et un chat.", "Ada a 3 chiens et un chat."),
                ("Elle vit à Lyon depuis deux ans", "Elle vit à Lyon depuis 2 ans."),
            ),
            fails=(
                ("Ada a trois chiens.", "Ada a 4 chiens."),
                ("Il a deux millions de livres.", "Il a 2 livres."),
                ("Son groupe s'appelle deux lunes.", "Son groupe s'appelle 2 lunes."),
                ("Son livre s'intitule deux lunes.", "Son livre s'intitule 2 lunes."),
                ("Le nom de son groupe est trois chats.", "Le nom de son groupe est 3 chats."),
                ("Il a un ordinateur neuf.", "Il a un ordinateur 9."),
                ("Elle part à trois heures avec lui.", "Elle part à 3 heures avec lui."),
                ("Elle n'a pas trois chiens.", "Elle a 3 chiens."),
                ("Elle est en salle cinq jours.", "Elle est en salle 5 jours."),
                ("Elle est en groupe trois jours.", "Elle est en groupe 3 jours."),
                ("Elle est en sept dans le sud.", "Elle est en 7 dans le sud."),
                ("Il est dans la phase deux semaines.", "Il est dans la phase 2 semaines."),
                ("Elle est avec Windows onze ans.", "Elle est avec Windows 11 ans."),
            ),
        ),
        "month": EditPairs(
            passes=(("Il est né le 3 janv. 1990 à Lyon.", "Il est né le 3 janvier 1990 à Lyon."),),
            fails=(
                ("Il est né le 3 juin 1990 à Lyon.", "Il est né le 3 juil. 1990 à Lyon."),
                ("Il est né en janv. 1990 à Lyon.", "Il est né en janvier 1990 à Lyon."),
            ),
        ),
        "start": EditPairs(
            passes=(("mon frère vit à Lyon.", "Mon frère vit à Lyon."),),
            fails=(
                ("la Rochelle est dans le sud.", "La Rochelle est dans le sud."),
                ("les Halles sont dans le centre.", "Les Halles sont dans le centre."),
                ("elle est dans un film.", "Elle est dans un film."),
                ("Il vit à la Rochelle avec elle.", "Il vit à La Rochelle avec elle."),
            ),
        ),
    },
)
"""What the guard knows of French."""
