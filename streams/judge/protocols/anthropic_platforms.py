"""The platforms for models of the protocol `anthropic`: the vendor, Amazon Bedrock, Google Vertex.

Each is a client of the vendor's SDK. Keys are found as the platform's own tools find them.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from anthropic import (
    AsyncAnthropic,
    AsyncAnthropicBedrock,
    AsyncAnthropicVertex,
    CredentialsError,
    DefaultAsyncHttpxClient,
)

from palimpsest.contracts.errors import UsageError
from palimpsest.contracts.extras import require_extra
from palimpsest.streams.judge.protocols.contract import address
from palimpsest.streams.judge.settings import Platform, ServiceSettings

Client = AsyncAnthropic | AsyncAnthropicBedrock | AsyncAnthropicVertex

VENDOR_KEY = "ANTHROPIC_API_KEY"
BEDROCK_KEY = "AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, AWS_PROFILE or AWS_BEARER_TOKEN_BEDROCK"
VERTEX_KEY = "GOOGLE_APPLICATION_CREDENTIALS"


class NoCredentialsError(UsageError):
    """There is no usable key; `key` says where one is looked up.

    `named` is a variable that names credentials; if it is set, the message says to correct it.
    """

    def __init__(self, key: str, named: str | None = None) -> None:
        wrong = f"correct {named}: what it names has no credentials"
        what = wrong if os.environ.get(named or "") else f"set {key}"
        super().__init__(
            f"the judge needs a key that can be used: {what}, or configure another service in"
            " [judge] (`palimpsest demo-judge` tries it without one)"
        )


@dataclass(frozen=True, slots=True)
class OpenPlatform:
    """An open client. `key` names the variables of its credentials.

    `unrefreshed` are the errors that the platform's package raises if it cannot refresh credentials
    that it has found.
    """

    client: Client
    key: str
    unrefreshed: tuple[type[Exception], ...] = ()


def _open_vendor(settings: ServiceSettings) -> OpenPlatform:
    url = address(settings.base_url, "ANTHROPIC_BASE_URL")
    try:
        client = AsyncAnthropic(
            base_url=url,
            max_retries=settings.retries,
            open_telemetry=False,
            http_client=_http(),
        )
    except CredentialsError:
        raise NoCredentialsError(VENDOR_KEY) from None
    if not (client.api_key or client.auth_token or client.credentials):
        raise NoCredentialsError(VENDOR_KEY)
    return OpenPlatform(client, VENDOR_KEY)


def _open_bedrock(settings: ServiceSettings) -> OpenPlatform:
    """A client that signs with the credentials that AWS's own tools use, or has a bearer token."""
    with require_extra("a judge on Bedrock", "bedrock"):
        import boto3
        from botocore.exceptions import BotoCoreError

    try:
        session = boto3.Session()
        found = os.environ.get("AWS_BEARER_TOKEN_BEDROCK") or session.get_credentials()
    except BotoCoreError:  # such as for a profile that does not exist
        raise NoCredentialsError(BEDROCK_KEY, "AWS_PROFILE") from None
    if not found:
        raise NoCredentialsError(BEDROCK_KEY)
    region = os.environ.get("AWS_REGION") or session.region_name  # boto3 does not read the first
    if not region:
        raise UsageError("the judge's platform bedrock needs a region: set AWS_REGION")
    client = AsyncAnthropicBedrock(
        aws_region=region,
        base_url=address(settings.base_url, "ANTHROPIC_BEDROCK_BASE_URL"),
        max_retries=settings.retries,
        open_telemetry=False,
        http_client=_http(),
    )
    return OpenPlatform(client, BEDROCK_KEY, (BotoCoreError,))


def _open_vertex(settings: ServiceSettings) -> OpenPlatform:
    """A client with Google's application default credentials, and their project by default."""
    with require_extra("a judge on Vertex", "vertex"):
        import google.auth
        from google.auth.exceptions import DefaultCredentialsError, GoogleAuthError

    region = os.environ.get("CLOUD_ML_REGION")
    if not region:
        raise UsageError("the judge's platform vertex needs a region: set CLOUD_ML_REGION")
    try:
        credentials, project = google.auth.default(
            scopes=["https://www.googleapis.com/auth/cloud-platform"]
        )
    except DefaultCredentialsError:
        raise NoCredentialsError(VERTEX_KEY, VERTEX_KEY) from None
    project = os.environ.get("ANTHROPIC_VERTEX_PROJECT_ID") or project
    if not project:
        raise UsageError(
            "the judge's platform vertex needs a project: set ANTHROPIC_VERTEX_PROJECT_ID"
        )
    client = AsyncAnthropicVertex(
        region=region,
        project_id=project,
        credentials=credentials,
        base_url=address(settings.base_url, "ANTHROPIC_VERTEX_BASE_URL"),
        max_retries=settings.retries,
        open_telemetry=False,
        http_client=_http(),
    )
    return OpenPlatform(client, VERTEX_KEY, (GoogleAuthError,))


def _http() -> DefaultAsyncHttpxClient:
    return DefaultAsyncHttpxClient(follow_redirects=False)


PLATFORMS: Mapping[Platform | None, Callable[[ServiceSettings], OpenPlatform]] = {
    None: _open_vendor,
    "bedrock": _open_bedrock,
    "vertex": _open_vertex,
}
"""Functions that open a client. They raise UsageError without credentials, region, address or
package."""
