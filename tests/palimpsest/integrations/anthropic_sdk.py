"""What the tests need of Anthropic's SDK."""

from anthropic import Anthropic
from anthropic.lib.tools import ToolError
from anthropic.tools import BetaLocalFilesystemMemoryTool
from anthropic.types import beta

from palimpsest.anthropic import AsyncPalimpsestMemoryTool, PalimpsestMemoryTool

__all__ = [
    "Anthropic",
    "AsyncPalimpsestMemoryTool",
    "BetaLocalFilesystemMemoryTool",
    "PalimpsestMemoryTool",
    "ToolError",
    "beta",
]
