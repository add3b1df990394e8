"""The parts of LangGraph's store (docs/langgraph.md): all but the class that LangGraph calls."""
