"""Puts a report together as src/report/page.rs does, from the JSON of results.

Used for results that no run on a machine without GPUs gives, and until `--report` is there.
"""

import html
import json
from pathlib import Path

PAGE = Path(__file__).resolve().parent.parent.parent / "src/report/page"
SCRIPTS = ["format", "data", "dom", "charts", "waits", "summary", "memory", "timeline", "rates", "degrees", "plan", "bench", "main"]
LICENCES = ["echarts-LICENSE", "echarts-NOTICE", "zrender-LICENSE", "tslib-LICENSE", "d3-LICENSE"]


def entry(kind, title, text, job=None, rates=None):
    """An entry of a page; `text` is the JSON as the program prints it."""
    return {"kind": kind, "title": title, "text": text, "job": job, "rates": rates}


def data(text):
    return text.strip().replace("<", "\\u003c")


def page(entries, version="0.1.0", created=1_795_435_200):
    results, context = [], []
    for i, one in enumerate(entries, 1):
        name = f"result-{i}"
        results.append(f'<script type="application/json" class="result" id="{name}" data-kind="{one["kind"]}">{data(one["text"])}</script>\n')
        context.append({"id": name, **{key: one[key] for key in ("kind", "title", "job", "rates")}})
    about = data(json.dumps({"version": version, "created": created, "entries": context}))
    parts = {
        "style": (PAGE / "style.css").read_text(),
        "licences": html.escape("\n\n".join((PAGE / f"{name}.txt").read_text() for name in LICENCES), quote=False),
        "data": "".join(results) + f'<script type="application/json" id="context">{about}</script>\n',
        "library": (PAGE / "echarts.js").read_text(),
        "scripts": "".join((PAGE / f"{name}.js").read_text() for name in SCRIPTS),
    }
    text = []
    for i, piece in enumerate((PAGE / "template.html").read_text().split("<!-- insert ")):
        name, _, rest = piece.partition(" -->") if i > 0 else ("", "", piece)
        text += [parts.get(name, ""), rest]
    return "".join(text)
