"""The files of the page, which are there where it has been built."""

from importlib.resources import files

from rheotwin.errors import RheotwinError

BUNDLE = "bundle.js"


def page_file(name: str) -> bytes:
    """Return a file of the page; without its bundle one sentence says how to make it."""
    try:
        return (files("rheotwin.touch") / "page" / name).read_bytes()
    except OSError:
        raise RheotwinError(
            "touch: this installation has no page; build it with node: `make page` in the sources, then install them "
            "again (or use --desktop or --script)"
        ) from None
