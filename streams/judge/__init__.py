"""The judge: an LLM that decides the pairs in the gray zone (docs/judge.md)."""
