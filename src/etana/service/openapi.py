"""The OpenAPI document and its page, true for the models that are served at this moment.

What a body may hold depends on the models: their names, their features, whether a value is a number or text. The
document says so, feature by feature, so that a client (or a program that tests the service) can make valid requests
from it alone. Models with very many features are described in general.
"""

from __future__ import annotations

import base64
import hashlib
import json
from html import escape
from typing import Any

from fastapi import FastAPI, Response
from fastapi.openapi.utils import get_openapi

from etana.service.case_service import CaseService
from etana.service.models import Served
from etana.service.problems import Problem

__all__ = ["describe", "reference_page"]

_MOST_FEATURES = 256
_NUMBER = {"type": ["number", "null"], "format": "double"}
_ANY = {"type": ["number", "string", "boolean", "null"]}
_COST = {"type": ["number", "null"], "format": "double", "minimum": 0, "description": "Spend no more on features."}
_PRICE = {"type": ["number", "null"], "format": "double", "minimum": 0, "description": "What was paid for it."}
_REVISION = {"type": ["integer", "null"], "minimum": 0, "maximum": 2**53}
_KINDS = {bool: "boolean", int: "number", float: "number", str: "string"}


def describe(app: FastAPI, cases: CaseService, guarded: bool) -> dict[str, Any]:
    """The document."""
    document = get_openapi(
        title=app.title, version=app.version, routes=app.routes,
        description="Classification that asks for one feature at a time and stops when the next would cost more than "
        "it saves. Errors are application/problem+json; their detail says what to do.",
    )  # fmt: skip
    models = list(cases.models)
    schemas = document.setdefault("components", {}).setdefault("schemas", {})
    schemas["Problem"] = Problem.model_json_schema(ref_template="#/components/schemas/{model}")
    schemas |= schemas["Problem"].pop("$defs")
    schemas["ClassifyRequest"] = _one_of([_classify(s, cases.most_rows(s), len(models) > 1) for s in models])
    schemas["StartRequest"] = _start(models)
    schemas["ObservationRequest"] = _observation(models)
    schemas["PanelRequest"] = _one_of([_panel(s) for s in models])
    schemas["UnavailableRequest"] = _unavailable(models)
    for parameter in document["paths"]["/v1/model"]["get"]["parameters"]:
        parameter["required"], parameter["schema"] = len(models) > 1, {"enum": cases.models.names}
    if guarded:
        _require_token(document)
    return document


def _object(properties: dict[str, Any], required: list[str]) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": required, "additionalProperties": False}


def _one_of(schemas: list[dict[str, Any]]) -> dict[str, Any]:
    return schemas[0] if len(schemas) == 1 else {"anyOf": schemas}


def _classify(served: Served, most: int, several: bool) -> dict[str, Any]:
    rows = {"type": "array", "maxItems": most, "items": _row(served)}
    name: dict[str, Any] = {"enum": [served.name] if several else [served.name, None]}
    properties = {"rows": rows, "model": name, "max_cost": _COST}
    return _object(properties, ["rows", "model"] if several else ["rows"])


def _start(models: list[Served]) -> dict[str, Any]:
    """A new case; of several models, what can be known depends on which it is."""
    if len(models) == 1:
        name: dict[str, Any] = {"enum": [models[0].name, None]}
        return _object({"model": name, "max_cost": _COST, "known": _known(models[0])}, [])
    each = [{"properties": {"model": {"const": s.name}, "known": _known(s)}, "required": ["model"]} for s in models]
    properties = {"model": {"enum": [s.name for s in models]}, "max_cost": _COST, "known": {"type": ["object", "null"]}}
    return _object(properties, ["model"]) | {"anyOf": each}


def _known(served: Served) -> dict[str, Any]:
    known: dict[str, Any] = {"additionalProperties": _ANY}
    if len(served.features) <= _MOST_FEATURES:
        known = _object({name: _value(served, k) for k, name in enumerate(served.features)}, [])
    return known | {"type": ["object", "null"]}


def _panel(served: Served) -> dict[str, Any]:
    values: dict[str, Any] = {"type": "object", "additionalProperties": _ANY}
    if len(served.features) <= _MOST_FEATURES:
        values = _object({name: _value(served, k) for k, name in enumerate(served.features)}, [])
    return _object({"values": values | {"minProperties": 1}, "revision": _REVISION}, ["values"])


def _unavailable(models: list[Served]) -> dict[str, Any]:
    names = sorted({name for served in models for name in served.features})
    feature: dict[str, Any] = {"enum": [*names, None]} if len(names) <= _MOST_FEATURES else {"type": ["string", "null"]}
    return _object({"feature": feature, "revision": _REVISION}, [])


def _row(served: Served) -> dict[str, Any]:
    """A row by names (what is left out is missing) or as a list of all columns."""
    n = len(served.features)
    if n > _MOST_FEATURES:
        named: dict[str, Any] = {"type": "object", "additionalProperties": _ANY}
        return {"anyOf": [named, {"type": "array", "items": _ANY, "minItems": n, "maxItems": n}]}
    values = [_value(served, k) for k in range(n)]
    named = _object(dict(zip(served.features, values, strict=True)), [])
    listed: dict[str, Any] = {"type": "array", "minItems": n, "maxItems": n}
    if all(v == values[0] for v in values):
        listed["items"] = values[0]
    else:
        listed |= {"prefixItems": values, "items": False}
    return {"anyOf": [named, listed]}


def _value(served: Served, column: int) -> dict[str, Any]:
    categories = served.categories(column)
    if categories is None:
        return _NUMBER
    kinds = sorted({_KINDS[type(c)] for c in categories})
    return {"type": [*kinds, "null"], "examples": categories[:10]} if kinds else _ANY


def _observation(models: list[Served]) -> dict[str, Any]:
    """A feature with a value of its kind; which one is asked, the case knows."""
    if sum(len(s.features) for s in models) > _MOST_FEATURES:
        properties = {"feature": {"type": "string"}, "value": _ANY, "price": _PRICE, "revision": _REVISION}
        return _object(properties, ["feature", "value"])
    kinds: dict[str, tuple[dict[str, Any], list[str]]] = {}
    for served in models:
        for k, name in enumerate(served.features):
            value = _value(served, k)
            kinds.setdefault(json.dumps(value), (value, []))[1].append(name)
    return _one_of(
        [
            _object(
                {"feature": {"enum": sorted(set(names))}, "value": value, "price": _PRICE, "revision": _REVISION},
                ["feature", "value"],
            )
            for value, names in kinds.values()
        ]
    )


def _require_token(document: dict[str, Any]) -> None:
    document["components"]["securitySchemes"] = {"token": {"type": "http", "scheme": "bearer"}}
    for path, methods in document["paths"].items():
        if not path.startswith("/health/"):
            for operation in methods.values():
                operation["security"] = [{"token": []}]


# --- the page

_STYLE = (
    ":root{color-scheme:light dark;--ink:#15232b;--ground:#fff;--wash:#f1f4f5;--line:#cfd8dc;--link:#0f6f78}"
    "@media(prefers-color-scheme:dark){:root{--ink:#e7eff2;--ground:#0e1518;--wash:#162025;--line:#2b3a42;"
    "--link:#58c4cd}}"
    "*{box-sizing:border-box}body{font:1rem/1.5 system-ui,sans-serif;max-width:60rem;margin:0 auto;padding:1rem;"
    "color:var(--ink);background:var(--ground);overflow-wrap:anywhere}a{color:var(--link)}"
    "h2{font-size:1.1rem;font-family:ui-monospace,monospace;border-top:1px solid var(--line);padding-top:1rem}"
    "pre{background:var(--wash);padding:.6rem;overflow:auto;white-space:pre-wrap}"
    "summary{padding:.6rem 0;cursor:pointer}"
    "table{border-collapse:collapse}td{padding:.2rem 1rem .2rem 0;vertical-align:top}td:first-child{white-space:nowrap}"
    "@media(max-width:40rem){td{display:block;padding:.1rem 0}td:first-child{font-weight:600;padding-top:.5rem}}"
)
_STYLE_HASH = base64.b64encode(hashlib.sha256(_STYLE.encode()).digest()).decode()


def reference_page(document: dict[str, Any], prefix: str = "") -> Response:
    """The document as one page without scripts or anything from elsewhere."""
    info = document["info"]
    parts = [
        f'<!doctype html><html lang="en"><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escape(info['title'])}</title><style>{_STYLE}</style>"
        f"<h1>{escape(info['title'])} {escape(info['version'])}</h1>"
        f'<p>{escape(info["description"])} <a href="{prefix}/openapi.json">openapi.json</a></p>'
    ]
    for path, methods in document["paths"].items():
        parts += [_operation(method, path, operation) for method, operation in methods.items()]
    parts.append("<h2>Schemas</h2>")
    for name, schema in document["components"]["schemas"].items():
        parts.append(f'<details id="{escape(name)}"><summary>{escape(name)}</summary>{_code(schema)}</details>')
    policy = f"default-src 'none'; style-src 'sha256-{_STYLE_HASH}'; base-uri 'none'; frame-ancestors 'none'"
    return Response("".join(parts), media_type="text/html", headers={"Content-Security-Policy": policy})


def _operation(method: str, path: str, operation: dict[str, Any]) -> str:
    lines = [f"<h2>{method.upper()} {escape(path)}</h2><p>{escape(operation.get('description', ''))}</p><table>"]
    for parameter in operation.get("parameters", ()):
        words = parameter.get("description", "")
        lines.append(f"<tr><td>{escape(parameter['name'])} ({parameter['in']})<td>{escape(words)}")
    if "requestBody" in operation:
        lines.append(f"<tr><td>body<td>{_link(operation['requestBody'])}")
    for status, response in operation["responses"].items():
        lines.append(f"<tr><td>{status}<td>{escape(response['description'])} {_link(response)}")
    return "".join(lines) + "</table>"


def _link(holder: dict[str, Any]) -> str:
    """A link to the schema of a body."""
    for content in holder.get("content", {}).values():
        name = content.get("schema", {}).get("$ref", "").rpartition("/")[2]
        if name:
            return f'<a href="#{escape(name)}">{escape(name)}</a>'
    return ""


def _code(value: Any) -> str:
    return f"<pre>{escape(json.dumps(value, indent=1))}</pre>"
