"""The service: models behind HTTP, one question at a time or many rows at once.

One noun a file. ``limits``: what a client may ask for. ``models``: the models by name. ``store``: the cases on disk.
``rows``: values from JSON. ``desk``: the work itself, which knows nothing of HTTP. ``schemas``, ``problems``: what
comes in, and how errors go out. ``api``, ``health``, ``openapi``: routes. ``pages``: the web pages. ``guard``: what a
request must pass before it reaches them. ``metrics``: counters. ``app``: the whole. ``connections``, ``run``: the
process, which ``etana serve`` starts. ``demo``: models to try it with.
"""
