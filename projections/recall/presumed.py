"""Presumes by which names texts call an owner whose names nobody has declared.

These names only order hits: no join and no question rests on them (docs/guard.md).
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator

from palimpsest.contracts.names import SPEAKER
from palimpsest.contracts.patterns import compile_later
from palimpsest.streams.core.ledger import Ledger
from palimpsest.streams.guard import predicate

USER = "the user"
SHARED = 3
"""If at least this number of statements are made, in the same words, about a name and about *I* or
*the user*, the name is the owner's. People who live together share a home and a dog, little more.
"""
LONGEST = 200
"""Maximum number of characters of a text that counts: a statement about somebody is short."""
_EVERYBODY = {
    SPEAKER: compile_later(r"(?:[Ii](?= |')|[Mm]y(?= ))"),
    USER: compile_later(r"(?:[Tt]he )?[Uu]ser(?= |'s )"),
    "ich": compile_later(r"(?:[Ii]ch|[Mm]eine?) "),
    "der Nutzer": compile_later(r"(?:[Dd]er )?Nutzer "),
    "die Nutzerin": compile_later(r"(?:[Dd]ie )?Nutzerin "),
    "私": compile_later("私[はの]"),
    "僕": compile_later("僕[はの]"),
    "俺": compile_later("俺[はの]"),
    "ユーザー": compile_later("ユーザー[はの]"),
    "我": compile_later("我"),
    "用户": compile_later("用户"),
    "je": compile_later(r"[Jj](?:e |')"),
    "l'utilisateur": compile_later(r"[Ll]'utilisateur "),
    "l'utilisatrice": compile_later(r"[Ll]'utilisatrice "),
    "yo": compile_later(r"(?:[Yy]o|[Vv]ivo|[Tt]rabajo|[Tt]engo|[Ss]oy|[Ee]stoy) (?=[a-z])"),
    "el usuario": compile_later(r"(?:[Ee]l )?[Uu]suario "),
    "la usuaria": compile_later(r"(?:[Ll]a )?[Uu]suaria "),
}
"""Words for anybody, and the beginnings of texts that call their owner by them."""
_MY = ("My", "my")
_CAPITAL = "[A-ZÀ-ÖØ-ÞČĐĞİŁŚŞŠŻŽ]"
_NAME = compile_later(
    rf"({_CAPITAL}[^\W\d_]+(?: {_CAPITAL}[^\W\d_]+){{0,2}})(?='s | (?!{_CAPITAL})[^\W\d_])"
)
_WITHIN = compile_later(rf"(?<=[\w,] ){_CAPITAL}[^\W\d_]+")
_IS_CALLED = compile_later(
    r"(?:(?:[Mm]y|[Tt]he user's|[Uu]ser's)(?: first| full)? name is|name:|Name:"
    r"|(?:I'm|I am|(?:[Tt]he )?[Uu]ser is) (?:called|named))"
    rf" ({_CAPITAL}[^\W\d_]+)((?: {_CAPITAL}[^\W\d_]+){{0,2}})\.?$"
)
_NO_NAME = frozenset("He She It We You They".split())


class PresumedNames:
    """The names by which the texts of a ledger call its owner; it follows the ledger.

    These are the words for anybody (*I*, *the user*) that texts begin with. A name that texts begin
    with is the owner's, too, if it is the owner's id, or if a text says so. Otherwise, the same
    must be said of the name and of *I* or *the user* at least `SHARED` times, and no text that
    begins with a word for anybody may mention the name (*I live with Bea*).
    """

    def __init__(self, ledger: Ledger) -> None:
        self.ledger = ledger
        self._read: dict[str, int] = {}
        self._used = set[str]()
        self._told = set[str]()
        self._beside = set[str]()
        self._names = set[str]()
        self._said_of: dict[int, set[str]] = defaultdict(set)
        self._shared = Counter[str]()
        self._now: tuple[str, ...] = ()

    def now(self) -> tuple[str, ...]:
        """The names; empty unless there are several."""
        new = [*self._new_texts()]
        for text in new:
            self._note(text.replace("’", "'"))
        if new:
            found = self._used | {name for name in self._names if self._is_owners(name)}
            self._now = tuple(sorted(found)) if len(found) > 1 else ()
        return self._now

    def _is_owners(self, name: str) -> bool:
        if name in self._told or name.casefold() == self.ledger.owner_id.casefold():
            return True
        return self._shared[name] >= SHARED and self._beside.isdisjoint(name.split())

    def _new_texts(self) -> Iterator[str]:
        for scope in self.ledger.scopes.values():
            start = self._read.get(scope.namespace, 0)
            self._read[scope.namespace] = len(scope.rows)
            for distinct in scope.rows[start:]:
                text = distinct.members[0].text
                if len(text) <= LONGEST:
                    yield text

    def _note(self, text: str) -> None:
        begun = ((who, begins.match(text)) for who, begins in _EVERYBODY.items())
        called, found = next((one for one in begun if one[1]), (None, None))
        if told := _IS_CALLED.match(text):
            self._told |= {told[1], told[1] + told[2]}
        elif called is not None:
            self._beside.update(_WITHIN.findall(text))
        if called is not None and found is not None:
            self._used.add(called)
            rest = "'s" * (found[0] in _MY) + text[found.end() :]
            self._count(predicate(rest, of_speaker=called == SPEAKER), USER)
        elif (named := _NAME.match(text)) and named[1] not in _NO_NAME:
            self._names.add(named[1])
            self._count(predicate(text[named.end() :], of_speaker=False), named[1])
        elif not self.ledger.owner_id.isascii() and text.startswith(self.ledger.owner_id):
            self._names.add(self.ledger.owner_id)  # in a script without capitals

    def _count(self, said: str, who: str) -> None:
        """Count what is said both of a name and of *I* or *the user*."""
        of = self._said_of[hash(said)]
        if who not in of:
            of.add(who)
            self._shared.update([who] if USER in of and who != USER else ())
            self._shared.update(of - {USER} if who == USER else ())
