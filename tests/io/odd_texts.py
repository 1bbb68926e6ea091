"""Texts and tables that are hard on formats."""

import pandas as pd
from hypothesis import strategies as st

ODD = [
    "",
    " ",
    "\x00",
    "a\x00b",
    "\ud800",
    "lone \udfff in words",
    "שלום עולם",
    "\u202eright to left",
    "👩‍👩‍👧 family",
    'say "hi"',
    '"',
    '""',
    "two\nlines",
    "two\r\nlines",
    "old\rlines",
    "\n",
    "a,b;c\td|e",
    "=1+1",
    "-5",
    "@name",
    "\ttab",
    "'quoted",
    "0012",
    "NA",
    "nan",
    "null",
    "None",
    "true",
    "1e5",
    "\ufeffmark",
    "\u2028 line \u2029",
    "\x1c\x85",
    "\\",
]
texts = st.one_of(
    st.sampled_from(ODD),
    st.text(max_size=20),
    st.just(2_000).map(lambda n_words: "long " * n_words),
    st.text(st.characters(categories=["Cs", "Lu", "Po"]), max_size=5),
)
names = st.lists(texts.filter(lambda text: len(text) < 100), min_size=1, max_size=4)


@st.composite
def frames(draw, column_names=names):
    """Draw a table of texts with up to five rows; names may repeat."""
    columns = draw(column_names)
    n_rows = draw(st.integers(1, 5))
    rows = draw(st.lists(st.tuples(*[texts] * len(columns)), min_size=n_rows, max_size=n_rows))
    return pd.DataFrame(rows, dtype=object).set_axis(pd.Index(columns, dtype=object), axis=1)


json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3)
    ),
    max_leaves=6,
)
records = st.lists(
    st.dictionaries(st.sampled_from(["a", "b", "text", ""]), json_values, min_size=1),
    min_size=1,
    max_size=5,
)
