"""Boxes of particles stepped in whole vectors: no indices, one square root and one division for many edges."""
