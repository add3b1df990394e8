"""Japanese. A text with kana."""

from __future__ import annotations

from palimpsest.streams.guard.data.language_table import EditPairs, language_table

TABLE = language_table(
    "ja",
    script="kana",
    digits="二=2 三=3 四=4 五=5 六=6 七=7 八=8 九=9 十=10 十一=11 十二=12",
    counters="人 匹 冊 歳 個 台 杯 回 時間 (?<!十)分間 日間 年間 週間 か月 ヶ月 キロ",
    negators="ない ません なかった ず ぬ",
    edits={
        "numeral": EditPairs(
            passes=(
                ("彼女は猫を三匹飼っている。", "彼女は猫を3匹飼っている。"),
                ("彼は毎日お茶を二杯飲む", "彼は毎日お茶を2杯飲む。"),
                ("息子は十二歳です。", "息子は12歳です。"),
            ),
            fails=(
                ("彼女は猫を三匹飼っている。", "彼女は猫を4匹飼っている。"),
                ("息子は二十二歳です。", "息子は2歳です。"),
                ("彼は三百人に会った。", "彼は3人に会った。"),
                ("彼女はお茶が好きだ。", "彼女はお茶が好きではない。"),
                ("彼は二枚目です。", "彼は2枚目です。"),
                ("彼は三重に住んでいる。", "彼は3重に住んでいる。"),
                ("彼は五人兄弟です。", "彼は4人兄弟です。"),
                ("彼は十分間に合う。", "彼は10分間に合う。"),
            ),
        ),
    },
)
"""What the guard knows of Japanese."""
