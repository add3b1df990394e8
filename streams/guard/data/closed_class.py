"""Function words that identify a language.

A word of another language that is also English in lower case (*die*, *in*, *a*, *is*) is left out
of that language's words, so what is left hardly ever occurs in English text.
"""

from __future__ import annotations

ENGLISH = frozenset(
    (
        "the and of with from by his her hers she they them their theirs my mine your yours our"
        " you we its it this these those that what which whose where when why how has have had"
        " does did doesn't don't didn't isn't aren't wasn't weren't won't can't cannot"
        " couldn't wouldn't"
        " are were been being would could should might must not never every each some any many much"
        " both other another very too also only just than then there here because although while"
        " until about after before between through during without within into onto over under near"
        " behind beside above below across toward towards around outside inside who whom"
        " one two three four five six seven eight nine ten for at an he it's he's she's that's"
        " i'm you're we're they're nobody nothing everyone everything someone something"
    ).split()
)
"""English function words: a text with them is English if no word shows another language."""

CONTENT = frozenset(
    (
        "girl boy dog cat house woman women children people school work works working day week"
        " month year morning evening night food water name friend friends brother sister mother"
        " father likes loves hates wants needs lives owns drinks eats plays reads writes walks runs"
        " swims speaks thinks knows goes makes takes gives comes says sees uses has loves enjoys"
        " prefers moved bought sold married born died old new good great little small big large"
        " white black red green blue yellow happy sad near street road city town river user user's"
        " customer"
        " called named swim sings plays drives buys tells asks meeting coffee tea drawing sitting"
        " standing walking running talking playing holding"
        " wearing eating drinking riding"
    ).split()
)
"""Everyday English words: they, too, show English, unless they are `AMBIGUOUS`."""

_OTHERS = """
    der das und ist nicht ein eine einen einem einer sie wir ihr mit von zu auf für im am beim dem
    den des sich auch noch oder aber wenn dass wird wurde haben hat sind war mein meine sein seine
    seit nach über bei aus kein keine macht nach um zum zur durch gegen ohne vor unter zwischen
    jeden jeder alle nur schon immer ich du er es mich dich uns euch ihm ihn ihnen zwei drei vier
    fünf sechs sieben acht neun zehn zwölf
    ; el la los las un una unos unas y o que es en por con para su sus del al se lo le les no muy
    pero como más mi tu está están fue ser tiene vive casa todos cada cuando donde sin sobre entre
    tres cuatro cinco seis siete ocho nueve diez
    ; le les des du une et est sont dans pour pas ne avec sur par au aux ce cette ces il elle ils
    elles nous vous je tu mon ton son sa ses leur leurs qui que dont où mais donc été être avoir
    deux trois quatre cinq huit dix onze douze
    ; il gli uno di da con per tra fra che non è sono ha hanno ho questo questa suo sua nel nella
    della dello degli alla alle dal dalla ogni anche più molto
    ; o os as um uma e de do da dos das em no na nos nas por para com não ele ela eles elas seu sua
    foi ser está tem mais mas todos muito
    ; het een de van niet dat dit zijn haar hij zij wij jullie naar voor ook maar met bij uit op om
    aan als nog wel heeft hebben wordt werd geen deze die
    ; och att det som inte jag han hon vi ni mig dig sig med för på av till från eller när var är
    har hade kan ska ett en den de
    ; og ikke jeg hun deg meg seg av til fra på som eller når var er har et en den de vil skal
    ; ja ei se hän minä sinä he ovat oli olla mutta kun kuin myös että joka tämä
    ; nem és az egy hogy van volt meg csak már még ez azt mint vagy kell neki
    ; bir ve bu da de için ile çok ama gibi daha ben sen biz siz onlar değil var yok olarak
    ; nie się jest są był była na do za od po przez dla czy ale jak tak tylko już jego jej ich
    ; je se na že si jsem jsi jsou byl byla ale jak nebo pro při od do za ani už
    ; si este sunt nu cu pe din la mai sau dar care ce am ai au fost pentru lui ei ele
    ; yang dan di ke dari tidak ini itu dengan untuk pada adalah saya dia mereka kami kita akan
    sudah
    ; ang ng mga sa ay hindi ako siya ito iyon kung para
    ; wa na ya ni kwa katika yeye mimi sisi hii hiyo lakini
    ; là và của có không một những được cho với người này
    ; ne u i je na se da su za od do ali kao što nije bio bila
"""
SHARED = frozenset(
    (
        "a i an in is it as at am are on or so me my he we us do to no be by if of all her his the"
        " for from and man men had has have hat can will die war bin fast art hut hand wind brief"
        " come take same some ten per pro via et van den most over under water winter was were one"
        " here there then than let set get got ask him case pan son sin mint volt till vi van bio"
        " ton plus met van mine sole non sent note large code min mug um"
    ).split()
)
"""English words that are also words of other languages."""

OTHERS: frozenset[str] = frozenset(_OTHERS.replace(";", " ").split()) - SHARED
"""Function words of other languages that are not English: a single one shows another language."""

AMBIGUOUS = frozenset(
    (
        "an at for he her has have are one ten two six under over must my we were his him it them"
        " red sad old her man mine must is hotel restaurant pub café cafe museum villa radio piano"
        " guitar camera monitor tablet computer laptop banana pizza sandwich canoe kayak scooter"
        " tractor park bridge robot hat gate bank lamp sofa hen dog bush wall bus farm garage pony"
        " tiger lion station airport telephone television keyboard flag pole surfer tourist van"
        " skateboard snowboard kiosk oven toaster boy baby designer dentist soldier student pianist"
        " stole hall tent door box orange rose zebra panda giraffe"
    ).split()
)
"""English words that are also words of other languages: they show English only in pairs."""

WRITTEN_ELSEWHERE = frozenset(
    (
        "of by had been also just it water week school meeting happy great city river sing house"
        " holding running name black user drinks drank sang"
    ).split()
)
"""English words that other languages also use: after one of theirs they do not prove English."""

BEHIND_NAMES = frozenset(
    (
        "is isn't was wasn't has hasn't had hadn't will won't would wouldn't can can't cannot could"
        " couldn't does doesn't did didn't may might must should who whose also already always"
        " currently never often mostly now only probably rarely really recently sometimes still"
        " usually"
    ).split()
)
"""What may follow a name that begins an English sentence, besides nouns and other verbs."""

PAIRS = frozenset(
    f"{subject} {verb}"
    for subjects, verbs in (
        ("he she it who there", "is was has had will would does did can"),
        ("i", "am have was had will would do did can"),
        ("we you they", "are have were had will would do did can"),
    )
    for subject in subjects.split()
    for verb in verbs.split()
)
"""Pairs of neighbouring words that only English has."""

VERBATIM_ELSEWHERE = frozenset(
    (
        "passwort kennwort passphrase benutzername contraseña identifiant motto slogan"
        " passwörter kennwörter nutzername codewort geheimwort sicherheitsfrage sicherheitsantwort"
        " losung lösungswort zauberwort betreff dateiname kontoname"
        " spitzname kennzeichen nummernschild zitat inschrift aufschrift tätowierung rätsel"
        " pseudo pseudonyme surnom immatriculation épitaphe tatouage devinette"
        " contraseñas matrícula apodo lema eslogan acertijo adivinanza tatuaje"
    ).split()
)
"""Words of other languages that show that a text may be about a spelling, such as a password."""
PHRASES_ELSEWHERE = tuple(
    f" {phrase}"
    for phrase in (
        "code ist|code war|schild steht|tür steht|wand steht|tasse steht|karte steht|zettel steht"
        "|t-shirt steht|plakat steht"
        "|mot de passe|mots de passe|mot magique|mot secret|phrase secrète|code est|code secret"
        "|nom de code|question de sécurité|question secrète|réponse est|réponse secrète"
        "|nom d'utilisateur|nom d’utilisateur|plaque d'immatriculation|panneau dit|titre du"
        "|est écrit"
        "|pregunta de seguridad|pregunta secreta|respuesta es|respuesta secreta|clave de|clave es"
        "|código es|palabra clave|palabra mágica|palabra secreta|nombre de usuario|mi usuario es"
        "|su usuario es|frase secreta|cartel dice|cartel pone|letrero dice|letrero pone|puerta pone"
        "|camiseta pone|taza pone"
    ).split("|")
)
"""The same in several words, as they follow a space."""
VERBATIM_IN_RUNS = tuple(
    (
        "密码 密碼 口令 密保 安全问题 安全問題 暗号 暗號 用户名 用戶名 昵称 暱稱 车牌 車牌 账号"
        " 帳號 网名 網名 微信名 微信号 微信號 笔名 筆名 艺名 藝名 绰号 綽號 外号 外號 群名 签名"
        " 簽名 文件名 书名 書名 歌名 片名 店名 名叫 答案 写着 寫著 座右铭 座右銘 口号 口號 标语"
        " 標語 谜 謎 パスワード 合言葉 合い言葉 暗証 秘密の質問 ユーザー名 ニックネーム あだ名"
        " アカウント名 ログイン名 ハンドルネーム ペンネーム ファイル名 曲名 題名 芸名 名前は"
        " という名 答えは ヒントは と書い ナンバープレート 座右の銘 スローガン 「 『 《 〈 “"
    ).split()
)
"""The same in scripts without spaces, with their quotation marks and marks of titles."""
