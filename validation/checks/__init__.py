"""The verification suite: reference numbers of the specification, computed anew by the finite-element solver."""
