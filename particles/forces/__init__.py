"""Internal forces of particle bodies, one kind per file: arrays in a named tuple and a compiled loop over them."""
