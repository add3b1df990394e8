"""Courtesies: without a model, a sentence that contains nothing else is not remembered."""

from __future__ import annotations

import re

from palimpsest.contracts.patterns import compile_later

COURTESIES = {
    "en": (
        "thanks/thank you/so much/very much/a lot/again/for your help/for the help/please/hello/hi"
        "/good morning/good afternoon/good evening/good night/bye/goodbye/sorry/ok/okay/yes/no/sure"
        "/great/perfect/that is perfect/that's perfect/got it/i see/sounds good/looks good/go ahead"
        "/please do/please do that/do that/no problem/you're welcome/well done/have a nice day"
        "/have a great day/have a nice evening/that was very helpful/that's very helpful"
        "/that was helpful/that helps/that looks good/see you tomorrow/see you later"
    ),
    "de": (
        "danke/vielen dank/dankeschön/schön/sehr/für die hilfe/für deine hilfe/für ihre hilfe/bitte"
        "/hallo/guten morgen/guten tag/guten abend/gute nacht/tschüss/auf wiedersehen/ja/nein/gut"
        "/super/perfekt/alles klar/verstanden/entschuldigung/tut mir leid/kein problem"
        "/gern geschehen/das passt so/das passt/mach weiter/mach bitte weiter/so"
        "/vielen lieben dank/dir/ihnen/genau/stimmt/richtig/das war sehr hilfreich"
        "/das war hilfreich/das ist sehr hilfreich/das hilft mir/das sieht gut aus"
        "/mein fehler/schönen abend noch/schönen tag noch"
        "/bis morgen/bis bald/bis später/und/moin/grüß gott/servus"
    ),
    "fr": (
        "merci/beaucoup/bien/pour ton aide/pour votre aide/bonjour/bonsoir/bonne nuit/bonne journée"
        "/au revoir/oui/non/d'accord/s'il te plaît/s'il vous plaît/parfait/c'est/très/super"
        "/désolé/désolée/je suis/pas de problème/je comprends/compris/de rien/je t'en prie"
        "/je vous en prie"
    ),
    "es": (
        "gracias/muchas/muchísimas/por tu ayuda/por su ayuda/por la ayuda/hola/buenos días"
        "/buenas tardes/buenas noches/adiós/sí/no/por favor/perfecto/está/vale/muy/bien/lo siento"
        "/de nada/entendido/no hay problema/de acuerdo"
    ),
    "zh": (
        "谢谢/感谢/多谢/非常/你/您/的/帮助/了/你好/您好/早上好/晚上好/晚安/再见/好/好吧/是/对/没错/没问题/不客气/对不起"
        "/抱歉/不好意思/我知道/我明白/知道/明白/请/继续/太好/可以/辛苦/麻烦/再试一次/就是这样/就这样"
    ),
    "ja": (
        "ありがとうございます/ありがとうございました/ありがとう/どうも/よろしく/お願いします/お願いいたします/はい/いいえ/うん"
        "/了解/承知/しました/です/わかりました/分かりました/お疲れ様/お疲れさま/でした/こんにちは/こんばんは/おはよう/ございます"
        "/おやすみなさい/さようなら/すみません/ごめんなさい/申し訳ありません/大丈夫/なるほど/そう/ですね/いいですね/いいです"
        "/助かります/助かりました/違います/続けてください/続けて/もう一度/それで/これで/完璧/ok/ね"
        "/本当に/大変助かりました/大変失礼しました/とても/いつも/問題ありません/問題ないです/いい感じです/間違えました"
        "/お返事いただき/ご連絡いただき/ご回答いただき/ご対応いただき/ご教示いただき/教えていただき"
        "/教えてくれて/お世話になっております/お世話になります/失礼します/失礼しました/かしこまりました"
    ),
    "ko": (
        "감사합니다/감사해요/고맙습니다/고마워요/정말/네/예/아니요/알겠습니다/알겠어요/안녕하세요/안녕히/가세요/계세요"
        "/죄송합니다/미안해요/괜찮습니다/괜찮아요/수고하셨습니다/수고하세요/맞아요/맞습니다/좋아요/좋습니다/계속/다시/해/주세요"
        "/그렇게/부탁합니다/부탁드립니다"
    ),
}
"""Phrases by language, in small letters, with slashes between them."""

_PHRASES = sorted({one for said in COURTESIES.values() for one in said.split("/")}, key=len)
_NOTHING_ELSE = compile_later(
    rf"(?:{'|'.join(map(re.escape, reversed(_PHRASES)))}|[\s,.!¡~…、，。！～])++[^\w?？]*"
)


def is_courtesy(sentence: str) -> bool:
    """Whether a sentence consists of such phrases alone."""
    return _NOTHING_ELSE.fullmatch(sentence.casefold().replace("’", "'")) is not None
