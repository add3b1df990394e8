"""Pairs in five languages that differ, however alike they look: no rule may join them."""

from __future__ import annotations

APART = {
    "de": """
Ada hat zwei Hunde. / Ada hat 3 Hunde.
Ada hat zwei Hunde. / Ada hat 2 Hündinnen.
Ada hat zwei Hunde. / Ada hatte 2 Hunde.
Ada hat zwei Hunde. / Bob hat 2 Hunde.
Ada hat zwei Hunde. / Ada hat nicht 2 Hunde.
Ada hat zwei Hunde. / Hat Ada 2 Hunde?
Ada hat zwei Hunde. / Ada hat 2 große Hunde.
Ada hat zwei Hunde. / Ada hat 2 Hunde und eine Katze.
Ada hat zwei Hunde. / Ada hat 2,5 Hunde.
Ada hat zwei Hunde. / Ada hat 2 von drei Hunden.
Ada hat zwei Millionen Euro. / Ada hat 2 Euro.
Ada hat drei Uhr. / Ada hat 3 Uhr.
Ada hat zwei Drittel. / Ada hat 2 Viertel.
Ada hat hundert zwei Hunde. / Ada hat 2 Hunde.
Ada hat zwei Dutzend Eier. / Ada hat 2 Eier.
Lena hat fünf Kinder. / Lena hat 5 Enkel.
Ada mag zwei. / Ada mag 2.
Ada ist zwei Jahre alt. / Ada ist 2 Monate alt.
Ich wohne in Rom. / Jetzt wohne ich in Paris.
Ich wohne in Rom. / Ich bin nach Paris gezogen.
Ich bin nach Rom gezogen. / Ich bin aus Rom weggezogen.
Früher wohnte ich in Rom. / Jetzt wohne ich in Rom.
Jetzt wohne ich in Rom. / Jetzt wohnt Ada in Rom.
Jetzt wohne ich in Rom. / Jetzt wohne ich nicht in Rom.
Jetzt wohne ich in Rom. / Jetzt wohne ich bei Rom.
Ich wohne jetzt in Rom. / Ich wohne noch in Rom.
Ich fahre einen Volvo. / Ich fahre keinen Volvo.
Ada ist größer als Bob. / Bob ist größer als Ada.
Er kommt am 3. Mai. / Er kommt am 3. März.
Er kommt um drei. / Er kommt um 3 nach.
Sie isst gern Fisch. / Sie isst ungern Fisch.
Ada arbeitet seit zwei Jahren bei Meta. / Ada arbeitet seit 3 Jahren bei Meta.
Ada hat drei Brüder. / Ada hat 3 Schwestern.
Mein Vater mag Tee. / Mein Großvater mag Tee.
""",
    "fr": """
Elle a deux chats. / Elle a 3 chats.
Elle a deux chats. / Elle avait 2 chats.
Elle a deux chats. / Il a 2 chats.
Elle a deux chats. / Elle n'a pas 2 chats.
Elle a deux chats. / Elle a 2 chattes.
Elle a deux chats. / Elle a 2 petits chats.
Elle a deux chats. / A-t-elle 2 chats ?
Elle a deux chats. / Elle a 2 chats et un chien.
Elle a deux cents chats. / Elle a 2 chats.
Elle a deux tiers. / Elle a 2 quarts.
Elle a quatre-vingts ans. / Elle a 4 ans.
Il vient à deux heures. / Il vient à 3 heures.
J'ai trois enfants. / J'ai 4 enfants.
J'ai trois enfants. / J'ai 3 petits-enfants.
J'ai trois enfants. / Tu as 3 enfants.
J'ai vingt et un ans. / J'ai 20 ans.
J'habite à Rome. / Désormais, j'habite à Paris.
J'habite à Rome. / Je n'habite plus à Rome.
J'habite à Rome. / J'habitais à Rome.
J'ai déménagé à Rome. / J'ai déménagé de Rome.
J'ai déménagé à Rome. / Ada a déménagé à Rome.
Maintenant j'habite à Rome. / Maintenant j'habite près de Rome.
Il aime le thé. / Il aime le café.
Il aime le thé. / Il n'aime que le thé.
Mon frère habite à Lyon. / Ma sœur habite à Lyon.
Ma mère habite à Lyon. / Ma belle-mère habite à Lyon.
Ma mère habite à Lyon. / Ma grand-mère habite à Lyon.
Il est né le 3 mai. / Il est né le 3 mars.
Elle est plus grande que lui. / Il est plus grand qu'elle.
Elle mange souvent du poisson. / Elle mange rarement du poisson.
Elle a commencé à fumer. / Elle a arrêté de fumer.
Il part avant midi. / Il part après midi.
""",
    "es": """
Ana tiene dos gatos. / Ana tiene 3 gatos.
Ana tiene dos gatos. / Ana tenía 2 gatos.
Ana tiene dos gatos. / Eva tiene 2 gatos.
Ana tiene dos gatos. / Ana no tiene 2 gatos.
Ana tiene dos gatos. / Ana tiene 2 gatas.
Ana tiene dos gatos. / Ana tiene 2 gatos negros.
Ana tiene dos gatos. / ¿Ana tiene 2 gatos?
Ana tiene dos gatos. / Ana tiene 2 gatos y un perro.
Ana tiene dos mil gatos. / Ana tiene 2 gatos.
Tengo dos gatos. / Tengo 3 gatos.
Tengo dos gatos. / Tienes 2 gatos.
Tengo dos gatos. / Tengo 2 perros.
Ana tiene treinta y dos años. / Ana tiene 32 meses.
Ana tiene treinta y dos años. / Ana tiene 30 años.
La cita es a las dos horas. / La cita es a las 3 horas.
Comió dos veces. / Comió 3 veces.
Vivo en Roma. / Ahora vivo en París.
Vivo en Roma. / Ya no vivo en Roma.
Vivo en Roma. / Vivía en Roma.
Me mudé a Roma. / Me mudé de Roma.
Ana se mudó a Roma. / Eva se mudó a Roma.
Ahora vivo en Roma. / Ahora vivo cerca de Roma.
Me gusta el té. / No me gusta el té.
Me gusta el té. / Me gusta el café.
Mi hermano vive en Lima. / Mi hermana vive en Lima.
Mi madre vive en Lima. / Mi abuela vive en Lima.
Mi madre vive en Lima. / Mi suegra vive en Lima.
Nació el 3 de mayo. / Nació el 3 de marzo.
Ana es más alta que Eva. / Eva es más alta que Ana.
Siempre come pescado. / Nunca come pescado.
Empezó a fumar. / Dejó de fumar.
Sale antes de comer. / Sale después de comer.
""",
    "zh": """
我有两只猫。 / 我有3只猫。
我有两只猫。 / 我有2只狗。
我有两只猫。 / 她有2只猫。
我有两只猫。 / 我没有2只猫。
我有两只猫。 / 我有2只猫吗？
我有两只猫。 / 我有过2只猫。
我有两百只猫。 / 我有2只猫。
我有十二只猫。 / 我有2只猫。
我住在罗马。 / 我现在住在巴黎。
我住在罗马。 / 我不住在罗马。
我住在罗马。 / 我以前住在罗马。
我现在住在罗马。 / 她现在住在罗马。
我已经搬到罗马了。 / 我还没搬到罗马。
我搬到罗马了。 / 我从罗马搬走了。
我搬到罗马了。 / 我想搬到罗马。
我妈妈住在北京。 / 我奶奶住在北京。
我妈妈住在北京。 / 我爸爸住在北京。
我妈妈住在北京。 / 我婆婆住在北京。
我喜欢茶。 / 我不喜欢茶。
我喜欢茶。 / 我喜欢咖啡。
我在谷歌工作。 / 我在谷歌实习。
我在谷歌工作。 / 我跳槽到脸书了。
他比我高。 / 我比他高。
她三月三日出生。 / 她五月三日出生。
她今年三十岁。 / 她今年3岁。
会议在上午。 / 会议在下午。
他每天吃鱼。 / 他有时吃鱼。
他开始抽烟了。 / 他戒烟了。
她会说法语。 / 她会说德语。
他去过日本。 / 他没去过日本。
门开着。 / 门关着。
""",
    "ja": """
猫を二匹飼っている。 / 猫を3匹飼っている。
猫を二匹飼っている。 / 犬を2匹飼っている。
猫を二匹飼っている。 / 猫を2匹飼っていた。
猫を二匹飼っている。 / 猫を2匹飼っていない。
猫を二匹飼っている。 / 猫を2匹飼っていますか。
猫を二匹飼っている。 / 猫を2匹飼いたい。
猫を十二匹飼っている。 / 猫を2匹飼っている。
ローマに住んでいる。 / 今はパリに住んでいる。
ローマに住んでいる。 / ローマに住んでいない。
ローマに住んでいる。 / ローマに住んでいた。
ローマに引っ越した。 / ローマから引っ越した。
ローマに引っ越した。 / ローマに引っ越したい。
私は今ローマに住んでいる。 / 彼は今ローマに住んでいる。
今日は東京に行く。 / 今年は東京に行く。
母は京都に住んでいる。 / 父は京都に住んでいる。
母は京都に住んでいる。 / 祖母は京都に住んでいる。
母は京都に住んでいる。 / 義母は京都に住んでいる。
お茶が好きだ。 / お茶が嫌いだ。
お茶が好きだ。 / お茶が好きではない。
グーグルで働いている。 / グーグルで働いていた。
グーグルで働いている。 / メタに転職しました。
彼は私より背が高い。 / 私は彼より背が高い。
三月三日に生まれた。 / 五月三日に生まれた。
息子は十歳です。 / 息子は10か月です。
会議は午前です。 / 会議は午後です。
毎日魚を食べる。 / 時々魚を食べる。
タバコを始めた。 / タバコをやめた。
フランス語を話せる。 / ドイツ語を話せる。
日本に行ったことがある。 / 日本に行ったことがない。
ドアが開いている。 / ドアが閉まっている。
朝食の前に走る。 / 朝食の後に走る。
""",
}
