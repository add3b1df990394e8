"""The language: candidates, requests, events, evidence, policy, wire format and schemas."""
