"""The service: models behind HTTP, one question at a time or many rows at once.

One noun a file, from the inside out:

- the work: ``limits``: what a client may ask for. ``models``: the models by name. ``rows``: values from JSON.
  ``case_service``: the work itself, which knows nothing of HTTP;
- the cases: ``store``: cases, sessions, the audit trail. ``database``: one thread writes, many read. ``engines``,
  ``sqlite``, ``postgres``: the databases. ``backup``: all of it in a file;
- people: ``users``: tokens and roles. ``sessions``: browsers that have signed in;
- the way in: ``connections``, ``proxy``, ``guard``, ``reading``, ``slots``: what a request passes before a route sees
  it. ``bodies``, ``schemas``: what comes in. ``problems``: how errors go out;
- routes: ``api``, ``records``, ``health``, ``openapi``, ``pages``;
- being watched: ``journal``, ``logs``, ``metrics``, ``board``, ``telemetry``;
- the whole: ``app``, ``settings``, ``run``, ``workers``, ``command``. ``demo``: models to try it with.
"""
