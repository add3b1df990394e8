"""Interfaces of other products: mem0's API, LangGraph's store, Claude's memory files, hooks."""
