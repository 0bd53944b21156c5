"""How anything compiled is written and kept: the decorator `compiled`, and the cache of kernels on disk."""
