"""The description on a package index: the README, without links that lead nowhere there.

Pages of the documentation and pictures are files of a checkout, and there is no public address of them yet: a link to
one becomes its text, and a picture goes. Once there is an address, this is the one place to put it.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface

_RELATIVE = r"\((?!https?:|mailto:|#)[^)\s]+\)"


def long_description(text: str) -> str:
    """A page without relative links and pictures."""
    text = re.sub(rf"^!\[[^\]]*\]{_RELATIVE}\n\n?", "", text, flags=re.MULTILINE)
    return re.sub(rf"\[([^\]]+)\]{_RELATIVE}", r"\1", text)


class LongDescription(MetadataHookInterface):
    """Sets the project's readme when a wheel or a source distribution is built."""

    def update(self, metadata: dict[str, Any]) -> None:
        """Called by the build."""
        text = (Path(self.root) / "README.md").read_text(encoding="utf-8")
        metadata["readme"] = {"content-type": "text/markdown", "text": long_description(text)}
