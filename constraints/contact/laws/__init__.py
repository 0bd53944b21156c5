"""Laws of the normal force of contact, one a file."""
