"""A recorded conversation, the actions of a scripted model, and what it should know in the end.

It is read in an environment with LangChain's adapters and without Palimpsest.
"""

from __future__ import annotations

from typing import NamedTuple

NOT_KNOWN = "I do not know."


class Turn(NamedTuple):
    """What the user says, what the model does, and its answer if that is fixed."""

    user: str
    does: str = "chat"
    """`remember`, `correct` (the result of a search), `amend` (the memory that adding it named),
    `ask`, `forget`, `undo` (the latest shown id) or `chat`."""
    text: str = ""
    """The text that is stored, asked or searched for."""
    of: str = ""
    """Words that identify one of several shown memories."""
    answer: str = NOT_KNOWN


CONVERSATION = [
    Turn("Hi, I'm Ada! I've just set you up. What do you know about me?", "ask", "Ada"),
    Turn("I live in Paris, in the 11th.", "remember", "Ada lives in Paris"),
    Turn("My friend Grace lives here, too.", "remember", "Grace lives in Paris"),
    Turn("I work as a translator.", "remember", "Ada works as a translator"),
    Turn("For Hermes Press, by the way.", "remember", "Ada works at Hermes Press"),
    Turn("Rex is my dog; he's six.", "remember", "Rex is Ada's dog"),
    Turn("I should mention that I can't eat peanuts.", "remember", "Ada is allergic to peanuts"),
    Turn("Grace can't have shellfish.", "remember", "Grace is allergic to shellfish"),
    Turn("Lovely weather today, isn't it?"),
    Turn("I have two cats as well.", "remember", "Ada has two cats"),
    Turn("My ticket is INC-1007.", "remember", "Ada takes care of INC-1007"),
    Turn("And Grace has INC-1070.", "remember", "Grace takes care of INC-1070"),
    Turn("Where do I live?", "ask", "Where does Ada live?", answer="Ada lives in Paris"),
    Turn("As I said, I live in Paris.", "remember", "Ada lives in Paris."),
    Turn("The dentist is on Monday.", "remember", "Ada sees the dentist on Monday"),
    Turn("I play the cello on Thursdays.", "remember", "Ada plays the cello on Thursdays"),
    Turn("My brother is called Noah.", "remember", "Ada's brother is called Noah"),
    Turn("Mail me at ada@hermes.example.", "remember", "Ada's address is ada@hermes.example"),
    Turn("Big news: we moved to Rome!", "correct", "Ada lives in Rome", "Ada lives"),
    Turn("So where do I live?", "ask", "Where does Ada live?", answer="Ada lives in Rome"),
    Turn("And Grace?", "ask", "Where does Grace live?", answer="Grace lives in Paris"),
    Turn("A third cat has moved in.", "amend", "Ada has three cats", "cats"),
    Turn("Can you tell me a joke?"),
    Turn(
        "I got the job at Minerva Books!", "correct", "Ada works at Minerva Books", "Hermes Press"
    ),
    Turn(
        "Where do I work?",
        "ask",
        "Where does Ada work?",
        "works at",
        answer="Ada works at Minerva Books",
    ),
    Turn("The dentist moved me to Friday.", "correct", "Ada sees the dentist on Friday", "dentist"),
    Turn("Please forget my e-mail address.", "forget", "address", "@"),
    Turn("What is my address?", "ask", "Ada's e-mail address", "@"),
    Turn(
        "My new address is ada@minerva.example.", "remember", "Ada's address is ada@minerva.example"
    ),
    Turn("INC-1007?", "ask", "INC-1007", answer="Ada takes care of INC-1007"),
    Turn("INC-1070?", "ask", "INC-1070", answer="Grace takes care of INC-1070"),
    Turn("INC-1007 is closed, forget it.", "forget", "INC-1007", "INC-1007"),
    Turn("INC-1070?", "ask", "INC-1070", answer="Grace takes care of INC-1070"),
    Turn("I like tea.", "remember", "Ada likes tea in the morning"),
    Turn("Did I say tea?", "remember", "Ada likes tea in the morning."),
    Turn("No, tell those two apart, please.", "undo"),
    Turn("It's chess now, no more cello.", "correct", "Ada plays chess on Thursdays", "cello"),
    Turn("What do I do on Thursdays?", "ask", "Thursdays", answer="Ada plays chess on Thursdays"),
    Turn("Rex has died. Delete him.", "forget", "Rex", "Rex"),
    Turn("Do I have a dog?", "ask", "Rex the dog", "dog"),
    Turn("Oh no, I'd like to keep him: bring him back.", "undo"),
    Turn("Whose dog was Rex?", "ask", "Rex the dog", answer="Rex is Ada's dog"),
    Turn("What must I not eat?", "ask", "Ada's allergies", answer="Ada is allergic to peanuts"),
    Turn("Who is my brother?", "ask", "Ada's brother", answer="Ada's brother is called Noah"),
    Turn("Grace followed us to Rome.", "amend", "Grace lives in Rome", "Grace lives"),
    Turn("Where do I live?", "ask", "Where does Ada live?", answer="Ada lives in Rome"),
    Turn("Thanks, that is all for today."),
]

KNOWN = {
    "Ada lives in Rome",
    "Grace lives in Rome",
    "Ada works as a translator",
    "Ada works at Minerva Books",
    "Rex is Ada's dog",
    "Ada is allergic to peanuts",
    "Grace is allergic to shellfish",
    "Ada has three cats",
    "Grace takes care of INC-1070",
    "Ada sees the dentist on Friday",
    "Ada plays chess on Thursdays",
    "Ada's brother is called Noah",
    "Ada's address is ada@minerva.example",
    "Ada likes tea in the morning",
    "Ada likes tea in the morning.",
}
"""Everything that is known in the end, written by hand."""
