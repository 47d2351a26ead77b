"""Where a report comes from: the model file and the table that it is about, and when it was made."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from etana.modelfile.container import read_metadata

__all__ = ["Provenance"]


@dataclass(frozen=True)
class Provenance:
    """Names and digests of what a report was made from; empty where there is none.

    Attributes
    ----------
    model, model_digest : str
        Name of the model file, and the digest that it holds, which the service shows too.
    classifier : str
        What kind of classifier was saved.
    data, data_digest : str
        Name of the table and the SHA-256 of its bytes.
    made : str
        Day and time.
    """

    model: str = ""
    model_digest: str = ""
    classifier: str = ""
    data: str = ""
    data_digest: str = ""
    made: str = ""

    @classmethod
    def of_files(cls, model: str, data: str) -> Provenance:
        """Of a model file and a table, now; a table on standard input has no digest."""
        about = read_metadata(model)
        digest = ""
        if data != "-":
            with open(data, "rb") as file:
                digest = hashlib.file_digest(file, "sha256").hexdigest()
        name = "standard input" if data == "-" else Path(data).name
        made = datetime.now(UTC).strftime("%d %B %Y, %H:%M UTC")
        return cls(Path(model).name, about["sha256"], about.get("estimator", ""), name, digest, made)

    def facts(self) -> Iterator[tuple[str, str]]:
        """What is known, each with its name."""
        for name, file, what, digest in (
            ("model file", self.model, "digest", self.model_digest),
            ("data file", self.data, "SHA-256", self.data_digest),
        ):
            if file:
                yield name, f"{file}, {what} {digest}" if digest else file
        if self.made:
            yield "made", self.made

    @property
    def words(self) -> str:
        """In one line, without digests."""
        files = " on ".join(name for name in (self.model, self.data) if name)
        return "; ".join(part for part in (files, self.made) if part)
