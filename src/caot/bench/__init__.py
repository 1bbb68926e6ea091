"""The benchmark: cells, suites, records, and the report that is made of them."""
