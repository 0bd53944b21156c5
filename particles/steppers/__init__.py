"""Rules in time of the particles, one per file: each takes many steps in one compiled call."""
