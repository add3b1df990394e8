"""Frames of texts that are not English: what differs in one value, and what differs otherwise."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from palimpsest.streams.guard import (
    begins_otherwise,
    frame,
    frame_keys,
    kept_for_frames,
    kept_frame_keys,
    kept_reading,
    passes,
    read,
    speaks_of,
    tells_change,
)
from palimpsest.streams.guard.present import as_present
from tests.streams.guard.test_names import pairs
from tests.tables import each

FRAMES = """
Ada wohnt in Paris. / Ada wohnt in Rom.
Ada arbeitet bei Google. / Ada arbeitet bei Meta.
Ada hat zwei Katzen. / Ada hat drei Katzen.
Meine Telefonnummer ist 555 0101. / Meine Telefonnummer ist 555 0199.
Ada geht montags ins Fitnessstudio. / Ada geht donnerstags ins Fitnessstudio.
Adas Hausarzt heißt Dr. Weber. / Adas Hausarzt heißt Dr. Lang.
Ada fährt einen Volvo. / Ada fährt einen Tesla.
Adas Lieblingsfarbe ist Grün. / Adas Lieblingsfarbe ist Blau.
Ich wohne in Paris. / Ich wohne in Rom.
Der Nutzer wohnt in Paris. / Der Nutzer wohnt in Rom.
J'habite à Paris. / J'habite à Rome.
Ada habite à Paris. / Ada habite à Rome.
Mon médecin est le docteur Weber. / Mon médecin est le docteur Lang.
Ana vive en París. / Ana vive en Roma.
Vive en París / Vive en Roma
Mi número es 555 0101. / Mi número es 555 0199.
パリに住んでいる / ローマに住んでいる
エイダはパリに住んでいます。 / エイダはローマに住んでいます。
エイダはグーグルで働いている。 / エイダはメタで働いている。
猫を二匹飼っている / 猫を三匹飼っている
エイダの電話番号は555 0101です。 / エイダの電話番号は555 0199です。
毎週月曜日にジムに通っている。 / 毎週木曜日にジムに通っている。
エイダの主治医は田中先生です。 / エイダの主治医は森先生です。
車はボルボに乗っている / 車はテスラに乗っている
艾达住在巴黎。 / 艾达住在罗马。
她在谷歌工作。 / 她在脸书工作。
她有两只猫。 / 她有三只猫。
艾达的电话是5550101。 / 艾达的电话是5550199。
艾达住在北京。 / 艾达住在南京。
好きな色は緑です。 / 好きな色は青です。
Wir treffen uns um 9:30 in Bonn. / Wir treffen uns um 10:15 in Bonn.
Lena studiert in Heidelberg. / Lena studiert in Freiburg.
Lenas Arbeit ist am 15. März fällig. / Lenas Arbeit ist am 30. April fällig.
Mon numéro est le 06 12 34 56 78. / Mon numéro est le 06 98 76 54 32.
Zoé se lève à six heures. / Zoé se lève à sept heures.
Son médecin s'appelle Martin. / Son médecin s'appelle Durand.
Timo fliegt im Mai nach Oslo. / Timo fliegt im Juni nach Oslo.
健太は五人のチームを率いている。 / 健太は八人のチームを率いている。
建国在北京大学读书。 / 建国在清华大学读书。
Tengo dos gatos. / Tengo tres gatos.
小雨住在成都。 / 小雨住在杭州。
小雨最喜欢的颜色是绿色。 / 小雨最喜欢的颜色是蓝色。
Ich wohne in Paris. / Ich wohne jetzt in Rom.
Aida arbeitet bei Google. / Aida arbeitet inzwischen bei Meta.
J'habite à Paris. / J'habite maintenant à Rome.
J'habite à Paris. / J'habite désormais à Rome.
Vivo en París. / Vivo en Roma.
Vivo en París. / Ahora vivo en Roma.
Trabajo en Google. / Actualmente trabajo en Meta.
Das Meeting ist am Montag um 10 Uhr. / Das Meeting ist am Dienstag um 10 Uhr.
Mein Name ist seit Mai Lena Berg. / Mein Name ist seit Mai Lena Weber.
会議は月曜日の10時です。 / 会議は火曜日の10時です。
나는 부산에 산다. / 나는 대구에 산다.
저는 부산에 살아요. / 저는 대구에 살고 있습니다.
나는 네이버에서 개발을 한다. / 나는 카카오에서 개발을 한다.
민수는 삼성전자에서 일한다. / 민수는 네이버에서 일합니다.
월세는 85만 원이다. / 월세는 90만 원이에요.
화요일 저녁마다 요가를 한다. / 목요일 저녁마다 요가를 한다.
나는 현대 아반떼를 탄다. / 나는 기아 K5를 탄다.
민수는 고양이 두 마리를 키운다. / 민수는 고양이 세 마리를 키운다.
내 주치의는 김 선생님이다. / 내 주치의는 이 선생님이다.
약속은 오후 3시에 있다. / 약속은 오후 4시에 있다.
Dienstags mache ich Yoga. / Donnerstags mache ich Yoga.
Los martes por la tarde hago yoga. / Los jueves por la tarde hago yoga.
Le mardi soir, je fais du yoga. / Le jeudi soir, je fais du yoga.
Conduzco un Seat Ibiza. / Conduzco un Toyota Yaris.
毎週火曜日の夜にヨガをしています。 / 毎週木曜日の夜にヨガをしています。
主治医は高橋先生です。 / 主治医は渡辺先生です。
トヨタのプリウスに乗っています。 / 日産のリーフに乗っています。
"""
NO_FRAMES = """
Ada wohnt in Rom. / Bob wohnt in Rom.
Ada wohnt in Paris. / Ada wohnte in Rom.
Ada trinkt gerne Kaffee. / Ada trinkt gerne Tee.
Ada mag Hunde. / Ada mag Katzen.
Ada arbeitet nie am Montag. / Ada arbeitet nie am Freitag.
Das Treffen ist am Montag. / Das Treffen ist um zwölf.
Ada hat einen Hund. / Ada hat einen Bruder.
Ada spricht Deutsch. / Ada spricht Englisch.
Meine Schwester wohnt in Rom. / Mein Bruder wohnt in Rom.
Ada ist Bäckerin. / Ada ist Lehrerin.
Wohnt Ada in Rom? / Wohnt Ada in Paris?
Ada und Bob wohnen in Rom. / Ada und Eve wohnen in Rom.
Elle aime le thé. / Elle aime le café.
Ana no come carne. / Ana no come pescado.
A Ana le gusta el té. / A Ana le gusta el café.
エイダはコーヒーが好きだ。 / エイダはお茶が好きだ。
エイダはローマに住んでいる。 / ボブはローマに住んでいる。
エイダの妹はローマに住んでいる。 / エイダの弟はローマに住んでいる。
パリには住んでいない / ローマには住んでいない
エイダは学生です。 / エイダは先生です。
ビールを飲む / ワインを飲む
艾达喜欢茶。 / 艾达喜欢咖啡。
艾达不住在巴黎。 / 艾达不住在罗马。
我妹妹住在罗马。 / 我姐姐住在罗马。
艾达的妹妹住在罗马。 / 艾达的姐姐住在罗马。
她住在罗马。 / 他住在罗马。
艾达是医生。 / 艾达是老师。
她有两只猫。 / 她有两只狗。
Ada likes shops near la Boca. / Ada likes shops near la Latina.
Ada wohnt in Paris. / Ada wohnt in Paris
Ada wohnt in Paris. Sie singt. / Ada wohnt in Rom. Sie singt.
Ada wohnt in Rom. / Ada habite à Rome.
No sé dónde vive Ana. / No sé dónde vive Eva.
エイダはどこに住んでいますか / エイダはどこで働いていますか
艾达住在巴黎吗？ / 艾达住在罗马吗？
Ich wohne in Rom. / Ich wohne jetzt in Rom.
Vivo en Roma. / Ahora vivo en Roma.
Ich lese jetzt ein Buch. / Ich lese jetzt eine Zeitung.
The meeting was also in Bonn. / The meeting was also in Köln.
月の石を持っている。 / 火の石を持っている。
月曜日の会議は10時だ。 / 月曜日の会議は短い。
민수는 부산에 산다. / 지훈은 부산에 산다.
민수의 형은 부산에 산다. / 민수의 누나는 부산에 산다.
민수는 부산에 산다. / 민수는 대구에 살았다.
엄마는 마케팅 회사에서 일한다. / 아빠는 광고 회사에서 일한다.
민수는 부산에 살지 않는다. / 민수는 대구에 살지 않는다.
민수는 커피를 마신다. / 민수는 차를 마신다.
민수는 고기를 좋아한다. / 민수는 생선을 좋아한다.
나는 고양이를 키운다. / 나는 강아지를 키운다.
나는 영어를 공부한다. / 나는 수학을 공부한다.
나는 축구를 한다. / 나는 농구를 한다.
나는 피아노를 친다. / 나는 기타를 친다.
나는 지민을 만났다. / 나는 수지를 만났다.
나는 부산에 갔다. / 나는 대구에 갔다.
내 직업은 의사다. / 내 직업은 힘들다.
내 고향은 부산이다. / 내 고향은 아름답다.
내 차는 현대다. / 내 차는 빨간색이다.
민수는 고기를 먹는다. / 민수는 고기를 먹지 않는다.
민수는 의사다. / 민수는 교사다.
약속은 3시에 있다. / 약속은 3시까지 있다.
나는 부산에 산다. / 나는 부산에서 일한다.
민수는 고양이 두 마리를 키운다. / 민수는 개 두 마리를 키운다.
회사는 서울에 있다. / 회사는 삼성전자다.
민수는 부산에 사나요? / 민수는 대구에 사나요?
지훈이 민수를 돕는다. / 민수가 지훈을 돕는다.
Montags mache ich Yoga. / Dienstags mache ich Pilates.
Ada hat zwei Katzen. / Ada hat zwei Hunde.
Ada a deux chats. / Ada a deux chiens.
Ana tiene dos gatos. / Ana tiene dos perros.
Montags mag ich Tee. / Dienstags mag ich Tee.
Montags arbeite ich nicht. / Dienstags arbeite ich nicht.
Los lunes no trabajo. / Los martes no trabajo.
Le lundi, Léa nage. / Le mardi, Zoé nage.
父の車に乗っています。 / 母の車に乗っています。
田中のプリウスに乗っています。 / 森のリーフに乗っています。
健太は親切です。 / 健太は病気です。
母は医者です。 / 母は元気です。
主治医は高橋先生です。 / 上司は渡辺先生です。
主治医は佐藤さんです。 / 上司は鈴木さんです。
隣人は佐藤さんと住む。 / 隣人は鈴木さんと住む。
"""
PRESENT = """
I work at Google / I no longer work at Google, I work at Meta now
I work at Google. / I no longer work at Google; I now work at Meta.
I work at Google. / I no longer work at Google. I work at Meta now.
I work at Google. / I don't work at Google anymore, now I work at Meta.
The user works at Google. / The user does not work at Google any more, but the user works at Meta.
Ada lives in Paris. / Ada used to live in Paris, now Ada lives in Rome.
My sister lives in Paris. / My sister no longer lives in Paris, and my sister lives in Rome now.
Ich wohne in Paris. / Jetzt wohne ich in Rom.
Ada wohnt in Paris. / Inzwischen wohnt Ada in Rom.
Meine Schwester wohnt in Paris. / Jetzt wohnt meine Schwester in Rom.
Ich wohne in Paris. / Früher wohnte ich in Paris, jetzt wohne ich in Rom.
Ich wohne in Paris. / Ich wohnte in Paris. Jetzt wohne ich in Rom.
Ich wohne in Paris. / Ich bin letzten Monat nach Rom umgezogen.
Ada wohnt in Paris. / Ada ist nach Rom gezogen.
Ich wohne in Paris. / Aber jetzt wohne ich in Rom.
Ich wohne in Paris. / Ich bin kürzlich von Paris nach Rom gezogen.
Ich wohne in Paris. / Ich wohne nicht mehr in Paris, ich wohne jetzt in Rom.
Ada arbeitet bei Google. / Bis vor kurzem arbeitete Ada bei Google, jetzt arbeitet Ada bei Meta.
J'habite à Paris. / Désormais, j'habite à Rome.
J'habite à Paris. / Je n'habite plus à Paris, j'habite désormais à Rome.
J'habite à Paris. / Avant j'habitais à Paris, mais maintenant j'habite à Rome.
J'habite à Paris. / J'ai déménagé à Rome.
Ada habite à Paris. / Ada a déménagé à Rome.
J'habite à Paris. / J'ai longtemps habité à Paris, mais j'habite maintenant à Rome.
Vivo en París. / Ya no vivo en París, ahora vivo en Roma.
Vivo en París. / Antes vivía en París. Ahora vivo en Roma.
Vivo en París. / Me mudé a Roma.
Ana vive en París. / Ana se ha mudado de París a Roma.
Ana trabaja en Google. / Ana trabajaba en Google, ahora Ana trabaja en Meta.
我住在巴黎。 / 我现在住在罗马。
我住在巴黎 / 我现在住在罗马了
我住在巴黎。 / 我已经搬到罗马了。
我住在巴黎。 / 我以前住在巴黎，现在住在罗马。
我住在巴黎。 / 我已经不住在巴黎了，现在我住在罗马。
我妈妈住在伦敦。 / 我妈妈以前住在伦敦，现在住在罗马。
我住在巴黎。 / 我妈妈以前住在伦敦，现在我住在罗马。
她儿子住在伦敦。 / 她儿子以前住在伦敦，现在她儿子住在罗马。
她在谷歌工作。 / 她跳槽到脸书了。
パリに住んでいます。 / 今はローマに住んでいます。
パリに住んでいる / ローマに引っ越しました。
私はパリに住んでいます。 / 私は今ローマに住んでいる。
パリに住んでいます。 / 以前はパリに住んでいましたが、今はローマに住んでいます。
グーグルで働いています。 / メタに転職しました。
妹は大阪に住んでいます。 / 妹は以前大阪に住んでいたが、今は東京に住んでいます。
兄はグーグルで働いています。 / 兄は辞めて、今はメタで働いています。
私は大阪に住んでいる。 / 私は今東京に住んでいる。
私は大阪に住んでいる。 / 兄は以前京都に住んでいたが、私は今は東京に住んでいる。
나는 부산에 산다. / 나는 대구로 이사했다.
나는 부산에 산다. / 나는 이제 대구에 산다.
나는 삼성전자에서 일한다. / 나는 최근에 네이버로 이직했어요.
월세는 85만 원이다. / 월세가 90만 원으로 올랐다.
시급은 1만 원이다. / 시급이 1만 2천 원으로 올랐다.
내 시급은 1만 원이다. / 내 시급이 1만 2천 원으로 올랐어.
나는 부산에 살고 있어. / 나는 대구로 이사했어.
주치의는 김 선생님이다. / 새 주치의는 이 선생님이다.
Meine Miete beträgt 900 Euro. / Meine Miete ist auf 950 Euro gestiegen.
Meine Miete beträgt 900 €. / Meine Miete wurde von 900 € auf 1.050,50 € erhöht.
Mon loyer est de 900 €. / Mon loyer est passé à 1 050,50 €.
Mon loyer est de 900 €. / Mon loyer est passé de 900 € à 950 €.
Mi alquiler es de 900 €. / Mi alquiler ha subido a 1.050,50 €.
家賃は8万5千円です。 / 家賃が9万円になりました。
家賃は8万円だ。 / 家賃が9万円に上がった。
我的房租是每月3500元。 / 我的房租涨到每月4000元了。
Mein Hausarzt heißt Dr. Weber. / Mein neuer Hausarzt heißt Dr. Lang.
Mon médecin est le docteur Weber. / Mon nouveau médecin est le docteur Lang.
Mi médica es la doctora Peña. / Mi nueva médica es la doctora Núñez.
主治医は高橋先生です。 / 新しい主治医は渡辺先生です。
上司は佐藤さんです。 / 新しい上司は鈴木さんです。
我的医生是王医生。 / 我的新医生是刘医生。
"""
NO_PRESENT = """
I work at Google. / I no longer work at Google, Ada works at Meta now.
I work at Google. / I no longer work at Google, I live in Rome now.
I work at Google. / I no longer work at Google and say that I work at Meta.
I live in Paris. / I no longer say that I live in Rome, I live in Rome now.
I live in Paris. / I no longer live in Paris, I never lived in Rome.
I work at Google. / I no longer work at Google.
Ich wohne in Rom. / Jetzt wohne ich in Rom.
Ich wohne in Paris. / Jetzt wohnt Ada in Rom.
Ich wohne in Paris. / Jetzt arbeite ich in Rom.
Ich wohne in Rom. / Ich bin nach Rom gezogen.
J'habite à Rome. / Désormais, j'habite à Rome.
J'habite à Paris. / Ada a déménagé à Rome.
Vivo en Roma. / Me mudé a Roma.
Ana vive en París. / Eva se mudó a Roma.
我住在罗马。 / 我现在住在罗马了。
我住在巴黎。 / 她现在住在罗马。
我住在巴黎。 / 我妹妹搬到罗马了。
今年はパリに行く。 / 今日はローマに行く。
ローマに住んでいる / 今はローマに住んでいます。
Ich wohne in Paris. / Ich bin nie nach Rom gezogen.
Ich wohne in Paris. / Ich bin nicht nach Rom gezogen.
Ich wohne in Paris. / Ich bin fast nach Rom gezogen.
Ich wohne in Paris. / Ich bin am Ende doch nicht nach Rom gezogen.
Ich wohne in Paris. / Ich bin 1990 nach Rom gezogen.
Ich wohne in Paris. / Ich bin vor zehn Jahren nach Rom gezogen.
Ich wohne in Paris. / Ich bin nach Weihnachten umgezogen.
Ich wohne in Paris. / Bob lügt, jetzt wohne ich in Rom.
Sie wohnt in Paris. / Ada wohnte früher in Bonn, jetzt wohnt sie in Rom.
Herr Weber wohnt in Paris. / Jetzt wohnt Herr Lang in Rom.
Ada arbeitet bei Google. / Es stimmt nicht, Ada arbeitet jetzt bei Meta.
Ada arbeitet bei Google. / Niemand glaubt, Ada arbeitet jetzt bei Meta.
Bob arbeitet bei Google. / Ada arbeitete früher an dem Gerücht, Bob arbeitet jetzt bei Meta.
J'habite à Paris. / Je n'ai jamais déménagé à Rome.
J'habite à Paris. / J'ai failli déménager à Rome.
J'habite à Paris. / J'ai déménagé à Rome en 1990.
J'habite à Paris. / J'ai déménagé à Noël.
J'habite à Paris. / Bob croit que Léa est partie, maintenant j'habite à Rome.
J'habite à Paris. / C'est faux, j'habite maintenant à Rome.
Vivo en París. / Nunca me mudé a Roma.
Vivo en París. / Casi me mudo a Roma.
Vivo en París. / Me mudé a Roma en 1990.
Ana trabaja en Google. / No es verdad, Ana trabaja ahora en Meta.
Ana trabaja en Google. / Bob miente, Ana trabaja ahora en Meta.
Vive en París. / Ana vivía en Lima, ahora vive en Roma.
我住在巴黎。 / 我没有搬到罗马。
我住在巴黎。 / 我差点搬到罗马。
我住在巴黎。 / 我1990年搬到罗马。
我住在巴黎。 / 我搬到罗马失败了。
我住在巴黎。 / 我妈妈以前住在伦敦，现在住在罗马。
我住在巴黎。 / 我丈夫以前住在伦敦，现在住在罗马。
我住在巴黎。 / 我朋友以前住在伦敦，现在住在罗马。
她住在巴黎。 / 她儿子以前住在伦敦，现在住在罗马。
我住在巴黎。 / 我不相信，我现在住在罗马。
我住在巴黎。 / 小李撒谎，我现在住在罗马。
パリに住んでいます。 / ローマに引っ越していません。
パリに住んでいます。 / ローマに引っ越しませんでした。
パリに住んでいます。 / ローマに引っ越すつもりです。
パリに住んでいます。 / 1990年にローマに引っ越しました。
大阪に住んでいます。 / 妹は以前京都に住んでいたが、今は東京に住んでいます。
グーグルで働いています。 / 兄は辞めて、今はメタで働いています。
グーグルで働いています。 / それは嘘です。今はメタで働いています。
村さんはパリに住んでいる。 / 今村さんはローマに住んでいる。
井さんはパリに住んでいる。 / 今井さんはローマに住んでいる。
나는 부산에 산다. / 나는 대구로 이사하지 않았다.
나는 부산에 산다. / 나는 1990년에 대구로 이사했다.
나는 부산에 산다. / 나는 대구로 이사할 뻔했다.
나는 부산에 산다. / 지훈은 대구로 이사했다.
월세는 85만 원이다. / 연봉이 90만 원으로 올랐다.
주치의는 김 선생님이다. / 새 상사는 이 선생님이다.
Meine Miete beträgt 900 Euro. / Meine Miete ist nicht auf 950 Euro gestiegen.
Meine Miete beträgt 900 Euro. / Meine Miete ist fast auf 950 Euro gestiegen.
Meine Miete beträgt 900 Euro. / Mein Gehalt ist auf 950 Euro gestiegen.
Meine Miete beträgt 900 Euro. / Seine Miete ist auf 950 Euro gestiegen.
Mein Hausarzt heißt Weber. / Mein neuer Zahnarzt heißt Lang.
Mein Hausarzt heißt Weber. / Mein neuer Hausarzt heißt nicht Lang.
Mon loyer est de 900 €. / Mon loyer n'est pas passé à 950 €.
Mon loyer est de 900 €. / Son loyer est passé à 950 €.
Mon loyer est de 900 €. / Mon salaire est passé à 950 €.
Mon médecin est Morel. / Mon nouveau dentiste est Durand.
Mi alquiler es de 900 euros. / Mi sueldo ha subido a 950 euros.
Mi alquiler es de 900 euros. / Su alquiler ha subido a 950 euros.
Mi alquiler es de 900 euros. / Mi alquiler no ha subido a 950 euros.
Mi médica es la doctora Peña. / Mi nueva vecina es la doctora Núñez.
家賃は8万円です。 / 給料が9万円になりました。
家賃は8万円です。 / 家賃が9万円になりませんでした。
主治医は高橋先生です。 / 新しい上司は渡辺先生です。
我的房租是每月3500元。 / 我的房租没涨到每月4000元。
我的房租是每月3500元。 / 我的工资涨到每月4000元了。
我的医生是王医生。 / 我的新老师是刘老师。
我的医生是王医生。 / 她的新医生是刘医生。
"""
NAMES = {
    "de": ("Ada", "der Nutzer", "ich"),
    "zh": ("艾达", "用户", "我"),
    "ja": ("エイダ", "ユーザー", "私"),
    "ko": ("민수", "사용자", "나"),
    "fr": ("Camille", "l'utilisatrice", "je"),
    "es": ("Lucía", "el usuario", "yo"),
}
OF_OWNERS = {
    "de": """
Ada arbeitet bei Google. / Ich arbeite bei Meta.
Der Nutzer wohnt in Paris. / Ich wohne in Rom.
Adas Hausarzt heißt Dr. Weber. / Mein Hausarzt heißt Dr. Lang.
Ich fahre einen Volvo. / Ada fährt einen Tesla.
Ada wohnt in Paris. / Ich wohne jetzt in Rom.
""",
    "zh": """
艾达住在巴黎。 / 我住在罗马。
用户在谷歌工作 / 我在脸书工作
""",
    "ja": """
エイダはパリに住んでいる。 / ローマに住んでいる
私はグーグルで働いている / ユーザーはメタで働いている。
エイダの電話番号は555 0101だ。 / 私の電話番号は555 0199です。
エイダは月曜日にジムへ行く。 / 私は木曜日にジムへ行きます。
エイダの家賃は8万円だ。 / 家賃は9万円です。
""",
    "ko": """
민수는 부산에 산다. / 나는 대구에 산다.
사용자는 삼성전자에서 일한다. / 나는 네이버에서 일해요.
민수의 월세는 85만 원이다. / 내 월세는 90만 원이다.
""",
    "fr": """
Camille a deux chats. / J'ai trois chats.
J'habite à Nantes. / L'utilisatrice habite à Rennes.
Mon loyer est de 900 €. / Le loyer de Camille est de 950 €.
Le médecin traitant de Camille est Weber. / Le médecin traitant de l'utilisatrice est Lang.
Camille se lève à six heures. / Je me lève à sept heures.
Camille prend le bus 12. / Je prends le bus 14.
Camille habite à Nantes. / J'ai déménagé à Rennes.
""",
    "es": """
Lucía tiene dos gatos. / Tengo tres gatos.
Vivo en Sevilla. / Lucía vive en Málaga.
Mi alquiler es de 900 euros. / El alquiler de Lucía es de 950 euros.
El usuario trabaja en Google. / Yo trabajo en Meta.
Lucía se levanta a las seis. / Me levanto a las siete.
Lucía vive en Sevilla. / Me he mudado a Málaga.
""",
}
OF_OTHERS = {
    "ja": """
エイダの弟は大阪に住んでいる。 / エイダは京都に住んでいる。
エイダの弟は大阪に住んでいる。 / 妹は京都に住んでいる。
エイダの母は医者だ。 / エイダは画家だ。
""",
    "ko": """
나는 부산에 산다. / 지훈은 대구에 산다.
민수의 동생은 부산에 산다. / 민수는 대구에 산다.
민수의 월세는 85만 원이다. / 지훈의 월세는 90만 원이다.
민수는 고양이 두 마리를 키운다. / 나는 개 세 마리를 키운다.
""",
    "fr": """
J'habite à Nantes. / Eva habite à Rennes.
J'ai deux chats. / Camille a deux chiens.
Je n'ai pas deux chats. / Camille a trois chats.
Mon frère habite à Nantes. / Camille habite à Rennes.
Mon frère habite à Nantes. / La sœur de Camille habite à Rennes.
Mon loyer est de 900 €. / Le loyer d'Eva est de 950 €.
Le frère de Camille habite à Nantes. / Le frère d'Eva habite à Rennes.
Camille Weber habite à Nantes. / J'habite à Rennes.
""",
    "es": """
Tengo dos gatos. / Eva tiene tres gatos.
Tengo dos gatos. / Lucía tiene dos perros.
No tengo dos gatos. / Lucía tiene tres gatos.
Mi hermano vive en Roma. / Lucía vive en Lima.
Mi hermano vive en Roma. / La hermana de Lucía vive en Lima.
Vivo en Sevilla. / Trabajo en Málaga.
Me levanto a las seis. / Lucía levanta a las siete.
""",
}
CHANGES = """
Ada wohnt jetzt in Rom. / Ada wohnt in Rom.
Ada ist nach Rom umgezogen. / Ada ist in Rom.
Elle habite désormais à Rome. / Elle habite à Rome.
Ana ha cambiado de trabajo. / Ana tiene un trabajo.
민수는 대구로 이사했다. / 민수는 대구에 산다.
エイダはローマに引っ越した。 / エイダはローマに住んでいる。
她搬到罗马了。 / 她住在罗马。
"""


@each(("one", "other"), pairs(FRAMES))
def test_texts_of_a_frame_share_a_key(one: str, other: str) -> None:
    a, b = kept_reading(one), kept_reading(other)
    assert frame(a, b)
    assert frame(b, a)
    assert not set(frame_keys(a)).isdisjoint(frame_keys(b))
    assert not begins_otherwise(one, b)
    assert not begins_otherwise(other, a)


@each(("one", "other"), pairs(NO_FRAMES))
def test_texts_of_no_frame(one: str, other: str) -> None:
    assert not frame(kept_reading(one), kept_reading(other))


@each(("one", "other"), pairs(PRESENT))
def test_what_holds_now_shares_a_frame_with_what_held_before(one: str, other: str) -> None:
    a, b = kept_for_frames(one, ()), kept_for_frames(other, ())
    assert frame(a, b)
    assert frame(b, a)
    assert not set(kept_frame_keys(one, ())).isdisjoint(kept_frame_keys(other, ()))
    assert not begins_otherwise(one, b)
    assert not begins_otherwise(other, a)
    assert not passes(read(one), read(other))


@each(("one", "other"), pairs(NO_PRESENT))
def test_what_holds_now_shares_no_frame_with_something_else(one: str, other: str) -> None:
    assert not frame(kept_for_frames(one, ()), kept_for_frames(other, ()))


def test_other_english_is_read_elsewhere() -> None:
    for text in ("Ada, a nun, now lives in Rome.", "I once lived in Paris, now I live in Rome."):
        assert kept_for_frames(text, ()).text == text


@pytest.mark.parametrize("code", NAMES)
def test_an_owner_may_have_english_names_as_well(code: str) -> None:
    """A text with one of them in front would be no longer in its language."""
    for names in (("I", *NAMES[code], "the user"), (*NAMES[code], "the user")):
        for one, other in pairs(OF_OWNERS[code]):
            assert frame(kept_for_frames(one, names), kept_for_frames(other, names))


@each(
    ("polite", "plain"),
    pairs("""
月曜日にジムへ行きます。 / 月曜日にジムへ行く
六時に起きます。 / 六時に起きる
コーヒーを飲みます / コーヒーを飲む
野菜を食べます。 / 野菜を食べる
映画を見ます。 / 映画を見る
毎日勉強します。 / 毎日勉強する
三階にあります。 / 三階にある
犬を飼っています。 / 犬を飼っている
犬がいます。 / 犬がいる
友達に会います。 / 友達に会う
五人のチームを率います。 / 五人のチームを率いる
本を貸します。 / 本を貸す
車は青いプリウスです。 / 車は青いプリウスだ
家賃は高いです。 / 家賃は高い
泳ぎます / 泳ぐ
兄を信じます / 兄を信じる
肉を食べません。 / 肉を食べません
肉を食べました。 / 肉を食べました
"""),
)
def test_a_polite_ending_is_read_as_the_plain_one(polite: str, plain: str) -> None:
    assert as_present(polite) == plain
    assert not frame(kept_for_frames(polite, ()), kept_for_frames(plain, ()))


@pytest.mark.parametrize("code", NAMES)
def test_an_owner_has_one_subject_in_frames_and_no_rule_joins_by_it(code: str) -> None:
    names = NAMES[code]
    for one, other in pairs(OF_OWNERS[code]):
        assert frame(kept_for_frames(one, names), kept_for_frames(other, names))
        assert not frame(kept_reading(one), kept_reading(other))
        assert not passes(read(one, names=names), read(other, names=names))
        assert speaks_of(one, names)


@each(
    ("code", "one", "other"),
    [(code, *pair) for code, written in OF_OTHERS.items() for pair in pairs(written)],
)
def test_a_name_of_an_owner_leads_to_nobody_else(code: str, one: str, other: str) -> None:
    a, b = (kept_for_frames(text, NAMES[code]) for text in (one, other))
    assert not frame(a, b)
    assert not frame(b, a)


@pytest.mark.parametrize(("one", "other"), pairs(CHANGES))
def test_a_change_is_told_by_words_of_the_language(one: str, other: str) -> None:
    assert tells_change(kept_reading(one))
    assert not tells_change(kept_reading(other))


def test_english_has_no_such_keys() -> None:
    for text in ("Ada lives in Paris.", "I have two cats.", "no pets", "home airport: Porto"):
        assert kept_reading(text).values == frozenset()


@each("text", ["Montag", "montags.", "lundi", "lunes"])
def test_a_text_that_is_only_a_value_has_no_key(text: str) -> None:
    assert kept_reading(text).values == frozenset()


@each(
    "text",
    """
今村さんはローマに住んでいる。 今井さんはローマに住んでいる。 今までローマに住んでいた。
今でもローマに住んでいる。 今もローマに住んでいる。 昨今はローマに住む人が多い。
古今は変わらない。 現在もローマに住んでいる。 現在の住所はローマだ。
""".split(),
)
def test_now_within_a_word_stays(text: str) -> None:
    assert as_present(text) == text.rstrip("。")


@given(st.text("Ada wohntiRm.ßé 3住在巴黎パリにんでいる。", max_size=30))
def test_every_text_has_keys_and_no_frame_with_itself(text: str) -> None:
    reading = kept_reading(text)
    assert not frame(reading, reading)


@pytest.mark.parametrize(
    "clause", ["私は猫が好きで、", "我住在巴黎，", "Ich zog um, jetzt wohne ich hier, "]
)
def test_a_story_is_not_rewritten(clause: str) -> None:
    """Words of now would be looked for after each clause: seconds for the longest text."""
    story = clause * 40 + "今は東京に住んでいます" * (not clause.isascii())
    assert as_present(story) == story
