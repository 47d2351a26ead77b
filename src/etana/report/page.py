"""The look of a report: an HTML page that needs nothing but itself.

Text from outside enters the page through :func:`text`, which escapes it, or as text of a picture. The page has no
script, and its content policy forbids scripts and requests of any kind.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from typing import Any

from etana.plots._canvas import clean

__all__ = ["bar", "cards", "decimals", "figures", "number", "page", "paragraph", "section", "table", "text"]

_CSS = """
:root { --ink: #1b2730; --muted: #56636d; --line: #d8dee3; --pale: #f4f6f8; --main: #0072b2; --bad: #b34700; }
* { box-sizing: border-box; }
html { -webkit-text-size-adjust: 100%; }
body { margin: 0; color: var(--ink); background: #fff; font: 16px/1.5 system-ui, -apple-system, "Segoe UI", Roboto,
  "Helvetica Neue", "Liberation Sans", "DejaVu Sans", Arial, sans-serif; }
main { max-width: 1160px; margin: 0 auto; padding: 1.5rem 1.25rem 3rem; }
h1 { font-size: 1.75rem; line-height: 1.2; margin: .5rem 0 .25rem; overflow-wrap: anywhere; }
h2 { font-size: 1.25rem; margin: 2.5rem 0 .5rem; padding-top: .9rem; border-top: 1px solid var(--line); }
p { margin: .4rem 0 .9rem; max-width: 46rem; overflow-wrap: anywhere; }
.muted, figcaption, .tile small, .step small { color: var(--muted); }
.tiles { display: grid; grid-template-columns: repeat(auto-fit, minmax(10.5rem, 1fr)); gap: .75rem; margin: 1.25rem 0; }
.tile { background: var(--pale); border-radius: .5rem; padding: .75rem .9rem; }
.tile span, .tile small { display: block; font-size: .85rem; line-height: 1.35; }
.tile b { display: block; font-size: 1.6rem; line-height: 1.35; font-variant-numeric: tabular-nums; }
.figures { display: grid; grid-template-columns: repeat(2, minmax(0, 1fr)); gap: 1.25rem 2rem; align-items: start; }
figure { margin: 0; min-width: 0; }
figcaption { font-size: .875rem; line-height: 1.4; margin-bottom: .4rem; }
figcaption b { display: block; color: var(--ink); font-size: 1rem; }
figure svg { display: block; width: 100%; height: auto; overflow: visible; margin-bottom: .4rem; }
svg * { stroke-linejoin: round; stroke-linecap: butt; }
svg text { font-family: inherit !important; }
.scroll { overflow-x: auto; margin: .5rem 0 1rem; }
table { border-collapse: collapse; font-size: .9rem; font-variant-numeric: tabular-nums; }
caption { text-align: left; font-weight: 600; padding: .25rem 0; }
th, td { padding: .35rem .75rem .35rem 0; text-align: left; vertical-align: top; border-bottom: 1px solid var(--line); }
th { font-weight: 600; vertical-align: bottom; }
tbody th { font-weight: 400; }
tr.own > * { font-weight: 600; }
th.n, td.n { text-align: right; white-space: nowrap; padding-left: .5rem; }
td small { white-space: nowrap; }
.scroll > table td:first-child { min-width: 9rem; }
tr > :last-child { padding-right: 0; }
.cards { columns: 2; column-gap: 1.5rem; margin-bottom: 1rem; }
.card { border: 1px solid var(--line); border-radius: .5rem; padding: .8rem .9rem 0; margin-bottom: 1.25rem;
  break-inside: avoid; }
.card h3 { font-size: 1rem; margin: 0; overflow-wrap: anywhere; }
.card p { margin: .15rem 0 .4rem; font-size: .9rem; }
.card table { width: 100%; table-layout: fixed; font-size: .85rem; }
.card td, .card th { overflow-wrap: anywhere; padding-right: .5rem; }
.card th:nth-child(1) { width: 29%; }
.card th:nth-child(3) { width: 13%; }
.card th:nth-child(4) { width: 33%; }
.card td:last-child, .card th:last-child { padding-left: .5rem; }
.card tr:last-child td { border-bottom: 0; }
.w { display: inline-block; max-width: 100%; }
.card small { display: block; white-space: normal; color: var(--muted); }
.wrong { color: var(--bad); font-weight: 600; }
.right { color: var(--main); font-weight: 600; }
.bar { display: flex; height: .5rem; margin: .15rem 0; border-radius: .25rem; overflow: hidden;
  background: var(--line); }
.bar i { display: block; height: 100%; }
.key { display: inline-block; width: .7rem; height: .7rem; border-radius: .15rem; margin-right: .35rem; }
footer { margin-top: 2.5rem; padding-top: .75rem; border-top: 1px solid var(--line); color: var(--muted);
  font-size: .85rem; }
@media (max-width: 720px) {
  main { padding: 1rem .9rem 2rem; }
  .figures { grid-template-columns: minmax(0, 1fr); }
  .cards { columns: 1; }
  .tiles { grid-template-columns: repeat(2, minmax(0, 1fr)); }
  .tile b { font-size: 1.35rem; }
  .card table { font-size: .8rem; }
  .card th:nth-child(1) { width: 28%; }
  .card th:nth-child(4) { width: 37%; }
}
@media print {
  body { font-size: 10.5pt; }
  main { max-width: none; padding: 0; }
  h2 { break-after: avoid; }
  figure, .card, tr, .tile { break-inside: avoid; }
  .scroll { overflow: visible; }
  * { -webkit-print-color-adjust: exact; print-color-adjust: exact; }
}
"""


def text(value: Any, limit: int | None = None) -> str:
    """Anything from outside as HTML: printable, shortened, escaped."""
    return escape(clean(value, limit))


def decimals(values: Iterable[float]) -> int:
    """Digits after the point that show the largest of these numbers with four or so in all."""
    largest = max((abs(v) for v in values if v == v), default=0.0)
    whole = len(f"{largest:.0f}") if largest >= 1 else 0
    return max(4 - whole, 0)


def number(value: float | None, digits: int = 4) -> str:
    """A number with thousands marked; a dash if there is none."""
    return "–" if value is None or value != value else f"{value:,.{digits}f}"


def page(title: str, subtitle: str, sections: Iterable[str], footer: str) -> str:
    """The whole document; sections are HTML, the rest is text."""
    policy = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"
    return "\n".join(
        [
            "<!DOCTYPE html>",
            '<html lang="en">',
            "<head>",
            '<meta charset="utf-8">',
            f'<meta http-equiv="Content-Security-Policy" content="{policy}">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            f"<title>{text(title)}</title>",
            f"<style>{_CSS}</style>",
            "</head>",
            "<body>",
            "<main>",
            f'<header><h1>{text(title)}</h1><p class="muted">{text(subtitle)}</p></header>',
            *sections,
            f"<footer>{text(footer)}</footer>",
            "</main>",
            "</body>",
            "</html>",
            "",
        ]
    )


def section(heading: str, *parts: str) -> str:
    """A part of the page under a heading."""
    return "\n".join([f"<section><h2>{text(heading)}</h2>", *(p for p in parts if p), "</section>"])


def paragraph(*sentences: str) -> str:
    """Plain text."""
    return f"<p>{text(' '.join(s for s in sentences if s))}</p>"


def cards(kind: str, blocks: Iterable[str]) -> str:
    """Boxes beside each other: kind ``tiles`` or ``cards``."""
    one = kind.removesuffix("s")
    return "\n".join([f'<div class="{kind}">', *(f'<div class="{one}">{b}</div>' for b in blocks), "</div>"])


def table(
    head: Sequence[str], rows: Iterable[Sequence[str]], numeric: Sequence[int] = (), caption: str = "", own: int = -1
) -> str:
    """A table of HTML cells under text headings; columns ``numeric`` are set flush right, row ``own`` is emphasised."""

    def cell(tag: str, column: int, content: str) -> str:
        scope = ' scope="col"' if tag == "th" else ""
        flush = ' class="n"' if column in numeric else ""
        return f"<{tag}{scope}{flush}>{content}</{tag}>"

    lines = ['<div class="scroll"><table>', f"<caption>{text(caption)}</caption>" if caption else ""]
    if any(head):
        lines.append("<thead><tr>" + "".join(cell("th", c, text(h)) for c, h in enumerate(head)) + "</tr></thead>")
    lines.append("<tbody>")
    for r, row in enumerate(rows):
        emphasis = ' class="own"' if r == own else ""
        lines.append(f"<tr{emphasis}>" + "".join(cell("td", c, content) for c, content in enumerate(row)) + "</tr>")
    lines.append("</tbody></table></div>")
    return "\n".join(line for line in lines if line)


def bar(parts: Iterable[tuple[float, str]]) -> str:
    """A bar in coloured parts, (share, colour); what remains stays grey. The numbers stand in the text beside it."""
    inner = "".join(f'<i style="width:{100 * share:.1f}%;background:{colour}"></i>' for share, colour in parts)
    return f'<div class="bar" aria-hidden="true">{inner}</div>'


def figures(*parts: str) -> str:
    """Figures beside each other, or one below the other on a narrow screen."""
    return "\n".join(['<div class="figures">', *parts, "</div>"])
