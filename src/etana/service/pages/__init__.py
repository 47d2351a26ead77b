"""The web pages: the service for people with a browser, by the same case service as the JSON routes.

Pages are rendered here and work without JavaScript; a small script adds comfort. Nothing is loaded from elsewhere, and
every change is a POST that ends in a redirect, so that loading a page again repeats nothing. ``look``: templates and
static files. ``forms``: what browsers send, and the seal that keeps foreign forms out. ``wording``: numbers and values
as people read them. ``facts`` and ``model_facts``: what a page says about a case and a model. ``pictures``: the policy,
drawn. ``beginnings``, ``cases``, ``about``, ``tables``, ``entrance``: the routes. ``friendly``: errors as pages.
"""

from etana.service.pages.friendly import Friendly
from etana.service.pages.look import STATIC
from etana.service.pages.router import pages

__all__ = ["UNGUARDED", "Friendly", "pages"]

UNGUARDED = ("/sign-in", *STATIC)
