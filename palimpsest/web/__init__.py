"""The review page: a store in a browser, under `/review`.

Needs the extra `serve`. A page is a function from a `Visit` to a response; a module of pages has a
function `add(door)` that adds their paths (`app.routes` calls it).
"""
