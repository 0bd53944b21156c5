"""Bodies pushed by hand while they run: live tools and grabs, the loop in real time, sessions as scenes, the page."""
