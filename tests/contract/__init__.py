"""docs/developer/contract.md once more: whole fits in exact arithmetic, written from that page and not from `src/`.

A file is a section of the page. Nothing here is fast, and nothing needs more than Python itself: a float is binary64
and +, -, *, / on floats round as the page's RN; everything else is done in integers and rounded once.
"""
