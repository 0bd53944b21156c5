"""Large rotation and large strain: corotational and total-Lagrangian viscoelastic bodies (spec 6)."""
