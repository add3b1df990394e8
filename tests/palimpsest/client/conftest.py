"""Servers like those of the server's own tests."""

from tests.palimpsest.server.conftest import _without_a_model, served

__all__ = ["_without_a_model", "served"]
