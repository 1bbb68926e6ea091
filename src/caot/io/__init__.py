"""Tables in and out: CSV, TSV, JSONL, Parquet and plain text, gzipped or piped.

`read_table` and `iter_tables` give texts with all columns beside them, `write_table` and
`TableWriter` write tables, `add_columns` puts our columns beside the user's.
"""

from caot.io.errors import TableError
from caot.io.formats import TableFormat
from caot.io.frames import add_columns
from caot.io.names import added_names
from caot.io.reading import TextTable, iter_tables, read_table
from caot.io.writing import TableWriter, write_table

__all__ = [
    "TableError",
    "TableFormat",
    "TableWriter",
    "TextTable",
    "add_columns",
    "added_names",
    "iter_tables",
    "read_table",
    "write_table",
]
