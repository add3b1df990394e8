"""A client of a Palimpsest server: `from palimpsest_client import PalimpsestClient`.

This folder is shipped twice: in this package, and alone as `palimpsest_client` by the distribution
`palimpsest-client`. So its modules import each other relatively, and nothing else of ours.
"""

from .client import AsyncPalimpsestClient, PalimpsestClient
from .errors import ClientError, ServerProblem, ServerUnreachable

__all__ = [
    "AsyncPalimpsestClient",
    "ClientError",
    "PalimpsestClient",
    "ServerProblem",
    "ServerUnreachable",
]
