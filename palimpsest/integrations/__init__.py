"""What speaks another product's words: mem0's API, hooks of agents, LangGraph's store."""
