"""Puts other results into a page that the program made: those that no run on a machine without GPUs gives, and hostile ones."""

import json
import re

DATA = re.compile(r'<script type="application/json"[^>]*>[^<]*</script>\n')
CONTEXT = re.compile(r'id="context">([^<]*)</script>')

# Rates of a machine, as the program's defaults.
RATES = {"size_arcs": 20e6, "build_arcs": 60e6, "write_bytes": 2.0e9, "read_bytes": 1.9e9, "cpu": {"graph": 0.4e9, "spill": 0.3e9},
         "gpu": {"graph": 1.4e9, "spill": 0.5e9}, "gpu_arcs": 8e9, "bitmap": 1.0, "lstc": 1.0, "packed": 1.0, "measured": False}


def entry(kind, title, text, job=None, rates=None, earlier=None):
    """An entry of a page; `text` is the JSON as the program prints it, `earlier` that of a result to compare with."""
    against = None if earlier is None else "earlier.json"
    return {"kind": kind, "title": title, "text": text, "job": job, "rates": rates, "against": against, "earlier": earlier}


def element(attributes, text):
    text = text.strip().replace("<", "\\u003c")
    return f'<script type="application/json" {attributes}>{text}</script>\n'


def page(made, entries):
    """The page `made` with these entries in place of its own."""
    columns = json.loads(CONTEXT.search(made)[1])["columns"]
    results, about = [], {"version": "0.1.0", "created": 1_795_435_200, "columns": columns, "entries": []}
    for i, one in enumerate(entries, 1):
        name = f"result-{i}"
        results.append(element(f'class="result" id="{name}"', one["text"]))
        if one["earlier"] is not None:
            results.append(element(f'class="earlier" id="{name}-earlier"', one["earlier"]))
        about["entries"].append({key: one[key] for key in ("kind", "title", "job", "rates", "against")})
    first = DATA.search(made).start()
    return made[:first] + "".join(results) + element('id="context"', json.dumps(about)) + DATA.sub("", made[first:])
