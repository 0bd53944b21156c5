"""Any edges, stepped eight at a time: rows of four numbers, sorted so that they lie close together."""
