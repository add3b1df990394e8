"""Chinese. A text with Han characters, without kana."""

from __future__ import annotations

from palimpsest.streams.guard.data.language_table import EditPairs, language_table

TABLE = language_table(
    "zh",
    script="han",
    digits="二=2 两=2 三=3 四=4 五=5 六=6 七=7 八=8 九=9 十=10 十一=11 十二=12",
    counters="个 只 岁 天 本 杯 辆 名 位 小时 分钟 公里 公斤",
    negators="不 没 没有 别 无 未 非",
    edits={
        "numeral": EditPairs(
            passes=(
                ("她有三只猫。", "她有3只猫。"),
                ("他每天喝两杯茶", "他每天喝2杯茶。"),
                ("他今年十二岁。", "他今年12岁。"),
            ),
            fails=(
                ("她有三只猫。", "她有4只猫。"),
                ("他今年二十二岁。", "他今年2岁。"),
                ("他走了三百公里。", "他走了3公里。"),
                ("她喜欢茶。", "她不喜欢茶。"),
                ("他住在三亚。", "他住在3亚。"),
                ("他住在三台。", "他住在3台。"),
                ("他有一个哥哥。", "他有1个哥哥。"),
                ("第三天他走了。", "第四天他走了。"),
                ("他第三天走了。", "他第3天走了。"),
                ("他走了二百五公里。", "他走了二百5公里。"),
            ),
        ),
    },
)
"""What the guard knows of Chinese."""
