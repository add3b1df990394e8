"""The review page: what a person sees of a store in a browser, under `/review` alone.

Needs the extra `serve`. A page is a function that takes a `Visit` and returns a response; a module
of pages has a function `add(door)` that says at which paths they are (`app.routes` calls it).
"""
