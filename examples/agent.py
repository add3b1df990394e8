"""An agent's loop: recall before answering, remember after; the same fact is kept once.

Run `python examples/agent.py` twice: the second time, everything is known.
"""

from __future__ import annotations

from palimpsest import Palimpsest

CONVERSATION = (
    ("Where shall we eat?", "Ada does not eat meat."),
    ("Which table do we take?", "Ada likes to sit by the window."),
    ("Anything to drink?", "Ada does not eat meat"),
    ("What do we order?", "In the evening, Ada drinks green tea."),
)


def answer(question: str, facts: list[str]) -> str:
    """Stands in for a language model."""
    return f"{question} I know: {' '.join(facts) or 'nothing yet.'}"


def main() -> None:
    """Hold a conversation with a memory."""
    with Palimpsest.open("agent-store") as memories:
        for turn, (question, learned) in enumerate(CONVERSATION):
            found = memories.recall("ada", question, k=2)
            print(answer(question, [memory["face"] for memory in found]))
            outcome = memories.submit(
                {"owner_id": "ada", "id": str(turn), "session_id": "dinner", "text": learned},
                source="dinner-agent",
            )[0]
            print(f"  {outcome.result}, {outcome.decision}: {learned}")
        counts = memories.status()
    print(f"{counts['candidates']} candidates, {counts['memories']} memories")


if __name__ == "__main__":
    main()
