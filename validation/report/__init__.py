"""The report of a comparison: plots, pictures, sentences, the page and its folder."""
