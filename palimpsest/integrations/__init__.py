"""Interfaces of other products: mem0's API, hooks of agents, LangGraph's store."""
