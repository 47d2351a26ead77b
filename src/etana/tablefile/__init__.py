"""Tables on disk: CSV and Parquet in, CSV out, a block of rows at a time.

A CSV file has a header line with column names; a column without one is named by its place. An empty cell is missing,
and so are the usual spellings (``NA``, ``n/a``, ``NULL``, ``?``; :mod:`etana.tablefile.missing`). A column is numeric
if every cell that is present is a number. Parquet needs pyarrow. ``-`` is standard input, or standard output.

A folder of parts holds CSV files only or Parquet files only, all with the same columns in any order. Files whose names
start with a dot or an underscore, which other programs leave as marks, are passed over.
"""

from etana.tablefile.blocks import Block, to_table
from etana.tablefile.missing import MISSING, Spellings
from etana.tablefile.part_files import check_parts, list_parts
from etana.tablefile.reading import read_blocks, read_columns
from etana.tablefile.writing import atomic_text, check_output

__all__ = [
    "MISSING",
    "Block",
    "Spellings",
    "atomic_text",
    "check_output",
    "check_parts",
    "list_parts",
    "read_blocks",
    "read_columns",
    "to_table",
]
