"""Why brokers that are there do not let us in, with the settings to check.

aiokafka's clients only log it, and raise that there is no connection.
"""

from __future__ import annotations

from asyncio import IncompleteReadError
from dataclasses import dataclass
from ssl import SSLCertVerificationError, SSLError
from typing import Any

from aiokafka.conn import create_conn
from aiokafka.errors import (
    IllegalSaslStateError,
    KafkaConnectionError,
    KafkaError,
    SaslAuthenticationFailed,
    UnsupportedSaslMechanismError,
)
from aiokafka.protocol.metadata import MetadataRequest

from palimpsest.streams.cluster.connection import Connection


@dataclass(frozen=True, slots=True)
class Refusal:
    """What a broker holds against our settings; not `certain` where it may also be on its way out.

    `reason` names the settings to check, and has no password.
    """

    reason: str
    certain: bool = True


async def refusal(connection: Connection) -> Refusal | None:
    """Connect to each address once, and say why none let us in; None where that was not it.

    Waits for as long as brokers take: whoever asks has to bound it.
    """
    told = connection.arguments()
    addresses = told.pop("bootstrap_servers")
    found = [one for address in addresses if (one := await _asked(connection, address, told))]
    if not found:
        return None
    reasons = "; ".join(dict.fromkeys(one.reason for one in found))
    return Refusal(reasons, any(one.certain for one in found))


async def _asked(connection: Connection, address: str, told: dict[str, Any]) -> Refusal | None:
    host, _, port = address.rpartition(":")
    try:
        connected = await create_conn(host, int(port), **told)
        try:
            await connected.send(MetadataRequest([]))  # asked by no one who is not let in
        finally:
            connected.close()
    except (KafkaError, OSError) as error:
        return meaning(error, connection)
    return None


def meaning(error: BaseException | None, connection: Connection) -> Refusal | None:
    """What an error says of our settings; None where it says nothing of them."""
    protocol = connection.security_protocol
    match error:
        case KafkaConnectionError():
            return meaning(error.__cause__, connection)
        case SaslAuthenticationFailed(args=(said, *_)):
            return Refusal(
                f"{said}: check sasl_username ({connection.sasl_username}), sasl_password and"
                f" sasl_mechanism ({connection.sasl_mechanism})"
            )
        case UnsupportedSaslMechanismError():
            return Refusal(f"it does not take {connection.sasl_mechanism}: check sasl_mechanism")
        case IllegalSaslStateError():
            return Refusal(f"it takes no SASL there: check security_protocol ({protocol})")
        case SSLCertVerificationError(verify_message=said):
            return Refusal(f"its certificate is not believed ({said}): check ssl_cafile, bootstrap")
        case SSLError(reason=str(said)) if "ALERT" in said:
            return Refusal(f"it ended TLS ({said}): check ssl_certfile and ssl_keyfile")
        case SSLError() | IncompleteReadError() | ConnectionResetError() | BrokenPipeError():
            own = ", and ssl_certfile if it wants one" if "SSL" in protocol else ""
            told = f"it broke off the connection: check security_protocol ({protocol}){own}"
            return Refusal(told, certain=False)
        case _:
            return None
