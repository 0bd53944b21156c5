"""Contact between bodies, with themselves and with rigid tools: one description for both backends.

A contact is a weighted sum of nodes against a unit normal (`pairs`). Geometry finds pairs, a law says what force
belongs to a gap, and each backend answers how its nodes give way.
"""
