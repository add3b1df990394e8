"""TOML that people write: settings, policies, languages, tokens."""

from __future__ import annotations

import tomllib
from typing import Any

from palimpsest.contracts.errors import UsageError


def parse_toml(written: str | bytes, origin: object) -> dict[str, Any]:
    """Parse a TOML file. Raises UsageError, which names `origin`, and the line if known.

    Bytes are UTF-8, and may begin with a byte order mark, as some editors write it.
    """
    try:
        text = written if isinstance(written, str) else written.decode("utf-8-sig")
        return tomllib.loads(text)
    except UnicodeDecodeError as error:
        line = error.object.count(b"\n", 0, error.start) + 1
        raise UsageError(f"{origin} is not UTF-8 text (at line {line})") from None
    except tomllib.TOMLDecodeError as error:
        raise UsageError(f"{origin} is not TOML: {error}") from None
    except ValueError:
        raise UsageError(f"{origin} is not TOML: a number has thousands of digits") from None
    except RecursionError:
        raise UsageError(f"{origin} is not TOML: lists or tables are nested too deeply") from None
