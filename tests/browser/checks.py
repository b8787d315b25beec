"""The checks of a page. Each function gets `check(name, holds, detail)`, an open page and the results that it shows."""

import json

from browser import CONTRAST, CROWDED
from texts import all_close, close, size, thousands, time

# The most spans of a track in a page, and of all tracks together.
MOST_OF_TRACK, MOST_SPANS = 2000, 5000


def page_is_sound(check, page, report):
    """Charts have marks, nothing is logged or requested, nothing is cut."""
    check("nothing is logged", not page.logged, page.logged)
    check("nothing is requested", all(url.startswith("file://") or url.startswith("blob:") for url in page.requested), page.requested)
    charts = page.charts()
    has_charts = report.results[0][0] != "failure"
    check("there are charts", bool(charts) or not has_charts, charts)
    check("each chart has marks", all(chart["marks"] > 3 for chart in charts), [(c["label"], c["marks"]) for c in charts])
    check("each chart has a label", all(chart["label"] and chart["role"] == "img" for chart in charts))
    check("each chart has data", all(any(s["data"] for s in chart["series"]) for chart in charts), [c["label"] for c in charts])
    wide = page.page.evaluate("[document.documentElement.scrollWidth, innerWidth]")
    check("the page is as wide as the window", wide[0] <= wide[1], wide)


def page_is_readable(check, page):
    # A busy machine may draw some time after the window was resized.
    page.wait_until("figures.every(({ plot, drawn }) => plot.clientWidth === 0 || drawn === plot.clientWidth)")
    crowded = page.page.evaluate(CROWDED)
    check("no text of a chart is cut or covered", not crowded, crowded)
    contrast = page.page.evaluate(CONTRAST)
    check("contrast is at least 4.5", contrast[0] >= 4.5, contrast)
    least = page.page.evaluate("Math.min(...[...document.querySelectorAll('main *')].filter((e) => e.getClientRects().length && e.textContent.trim())"
                               ".map((e) => parseFloat(getComputedStyle(e).fontSize)))")
    check("no text is smaller than 11 pixels", least >= 11, least)


def texts_are_no_objects(check, page):
    check("no object is shown as a text", "[object" not in page.page.locator("main").text_content())


def saved_result(check, text, line):
    """The page holds what the command printed, byte for byte; but it joins adjacent spans, to at most 2,000 of a track and 5,000 in all."""
    saved, printed = json.loads(text), json.loads(line)
    tracks = (printed.get("timeline") or {"tracks": []})["tracks"]
    most = min(MOST_OF_TRACK, MOST_SPANS // max(len(tracks), 1))
    if all(len(track["spans"]) <= most for track in tracks):
        check("the JSON is saved as the command printed it", text == line, text[:200])
        return
    check("all but the timeline is as the command printed it", saved | {"timeline": None} == printed | {"timeline": None})
    for shown, track in zip(saved["timeline"]["tracks"], tracks, strict=True):
        check("spans are joined", len(shown["spans"]) <= most, len(shown["spans"]))
        for waiting in (False, True):
            busy, merged = ([sum(span[of] for span in one["spans"] if span["waiting"] == waiting) for one in (shown, track)]
                            for of in ("busy", "merged"))
            check("joined spans have the same time", close(*busy) and merged[0] == merged[1], (track["name"], busy, merged))


def page_is_light(check, page):
    """The page is light, as paper needs it, even if the window is dark."""
    background = page.page.evaluate("getComputedStyle(document.body).backgroundColor")
    check("paper is white", background == "rgb(255, 255, 255)", background)
    contrast = page.page.evaluate(CONTRAST)
    check("contrast on paper is at least 4.5", contrast[0] >= 4.5, contrast)


def budget_is_shown(check, chart, budget, most):
    """The budget is a line, or is given in words where all bars would be shorter than a quarter of it."""
    on_axis = budget <= 4 * most
    check("the budget's line", chart["lines"] == ([budget] if on_axis else []), chart["lines"])
    check("the budget in words", on_axis or f"The budget of {size(budget)} is beyond the axis." in chart["label"], chart["label"])


def memory_of_count(check, page, result):
    parts = result["partitions"]
    chart = page.chart("Device memory of")
    most, predicted = (max(p[of] for p in parts) for of in ("peak_bytes", "peak_bytes_predicted"))
    # The prediction is exact on a GPU in the in-place mode, else an upper bound, drawn as an outline where the axis has room for it.
    bound = result["backend"] == "cpu" or result.get("mode") == "spilled"
    drawn = not bound or predicted <= 4 * most
    budget_is_shown(check, chart, result["device_memory"], max(most, predicted) if drawn else most)
    series = {one["name"]: one["data"] for one in chart["series"]}
    check("actual peaks in the chart", series["actual peak"] == [p["peak_bytes"] for p in parts])
    name = "predicted, at most" if bound else "predicted peak"
    check("predicted peaks in the chart", series.get(name) == ([p["peak_bytes_predicted"] for p in parts] if drawn else None), list(series))
    check("nothing else is drawn", len(series) == 1 + drawn, list(series))
    check("bounds are outlines", [one["name"] for one in chart["series"] if one["dashed"]] == ([name] if bound and drawn else []), chart["series"])
    check("a bound is called one", (f"at most {size(largest_of(parts)['peak_bytes_predicted'])} were predicted" in chart["label"]) == bound, chart["label"])
    check("a bound beyond the axis is in words", ("This upper bound is beyond the axis." in chart["label"]) == (not drawn), chart["label"])
    names = chart["x"] if len(parts) > 12 else chart["y"]
    check("partitions on the axis", names == [str(p["id"]) for p in parts], names)
    plural = "" if len(parts) == 1 else "s"
    rows = page.table(f"Numbers of {thousands(len(parts))} partition{plural}")
    wanted = [(str(p["id"]), size(p["peak_bytes_predicted"]), size(p["peak_bytes"]), thousands(p["triangles"]), size(p["stream_bytes"]),
               thousands(p["local_vertices"]), size(p["resident_bytes"])) for p in parts]
    columns = ["part", "peak at most", "peak actual", "triangles", "streamed", "local vertices", "resident"]
    check("the table of partitions", [tuple(row[c] for c in columns) for row in rows] == wanted,
          [(a, b) for a, b in zip((tuple(row[c] for c in columns) for row in rows), wanted) if a != b][:3])


def largest_of(parts):
    return max(parts, key=lambda p: p["peak_bytes"])


def stages_of_count(check, page, result):
    rows = page.table("Stages")
    stages = result["stages"]
    wanted = [(s["name"], *(size(s[way]) if s[way] else "–" for way in ("bytes_in", "bytes_out"))) for s in stages]
    check("the table of stages", [(r["stage"], r["bytes in"], r["bytes out"]) for r in rows] == wanted, rows)
    rates = page.chart("Rate of each stage")
    moved = [s for s in stages if s["seconds"] > 0 and (s["bytes_in"] or s["bytes_out"])]
    check("stages on the axis of rates", rates["y"] == [s["name"] for s in moved], rates["y"])
    for one, way in zip(rates["series"], ["bytes_in", "bytes_out"]):
        wanted = [s[way] / s["seconds"] or None for s in moved]
        same = len(wanted) == len(one["data"]) and all(a == b or close(a, b) for a, b in zip(wanted, one["data"]))
        check(f"rates of {way}", same, one["data"])
    known = page.page.evaluate("readEntries().entries.find(({ id }) => !document.getElementById(`entry-${id}`).hidden).rates")
    limits = [known["read_bytes"], known["write_bytes"]] if known else []
    check("the limits of the disk", rates["lines"] == limits, rates["lines"])
    times = page.chart("Time of each stage.")
    check("times of stages", all_close(times["series"][0]["data"], [s["seconds"] for s in stages]), times)
    check("times beside rates", page.page.viewport_size["width"] < 1000 or abs(times["top"] - rates["top"]) < 60, (times["top"], rates["top"]))


def timeline_of_count(check, page, result):
    tracks = [track for track in (result.get("timeline") or {"tracks": []})["tracks"] if track["spans"]]
    if not tracks:
        return
    chart = page.chart("What ran when")
    check("tracks on the axis", chart["y"] == [track["name"] for track in tracks], chart["y"])
    drawn = sorted((row, start, end) for one in chart["series"] for row, start, end, _ in one["data"])
    wanted = sorted((row, span["start"], span["start"] + span["seconds"]) for row, track in enumerate(tracks) for span in track["spans"])
    same = len(drawn) == len(wanted) and all(a[0] == b[0] and all_close(a[1:], b[1:]) for a, b in zip(drawn, wanted))
    check("spans in the chart", same, (len(drawn), len(wanted)))
    waiting = next(one["data"] for one in chart["series"] if one["name"] == "waiting")
    check("waits in the chart", len(waiting) == sum(span["waiting"] for track in tracks for span in track["spans"]), len(waiting))
    rows = page.table("Time of each track")
    check("the table of tracks", [(row["track"], row["spans"]) for row in rows]
          == [(track["name"], thousands(sum(span["merged"] for span in track["spans"]))) for track in tracks], rows)


def degrees_of_count(check, page, result):
    bins = result.get("degrees")
    if not bins:
        return
    points = page.chart("Vertices of each degree")["series"][0]["data"]
    wanted = [((b["from"] * b["to"]) ** 0.5, b["vertices"] / (b["to"] - b["from"] + 1)) for b in bins]
    check("the distribution of degrees", len(points) == len(wanted) and all(all_close(a, b) for a, b in zip(points, wanted)), points[:3])
    check("degrees add up to the vertices", round(sum(y * (b["to"] - b["from"] + 1) for (_, y), b in zip(points, bins))) == sum(b["vertices"] for b in bins))
    check("all vertices have a degree", sum(b["vertices"] for b in bins) == result["vertices"])
    rows = page.table(f"Numbers of {thousands(len(bins))} bin{'' if len(bins) == 1 else 's'} of degrees")
    wanted = ["–" if b.get("triangles") is None else thousands(b["triangles"]) for b in bins]
    check("triangles at them", [row["triangles at them"] for row in rows] == wanted, rows[:3])
    local = [b for b in bins if b.get("average_clustering")]
    if local:
        points = page.chart("Average local clustering")["series"][0]["data"]
        check("clustering by degree", all_close([y for _, y in points], [b["average_clustering"] for b in local]), points[:3])


def trusses_of_count(check, page, result):
    found = result.get("truss")
    heading = page.page.get_by_role("heading", name="Trusses", exact=True).locator("visible=true")
    check("a section where the graph was peeled", heading.count() == (1 if found else 0), heading.count())
    if not found:
        return
    chart = page.chart("Edges of the k-truss")
    check("edges by k", chart["series"][0]["data"] == [[t["k"], t["edges"]] for t in found["by_k"]], chart["series"][0]["data"][:3])
    rows = page.table(f"Numbers of {thousands(len(found['by_k']))} truss{'' if len(found['by_k']) == 1 else 'es'}")
    wanted = [tuple(thousands(t[of]) for of in ("k", "vertices", "edges")) for t in found["by_k"]]
    check("the table of trusses", [(row["k"], row["vertices"], row["edges"]) for row in rows] == wanted, rows[:3])
    text, largest = " ".join(page.text().split()), found["by_k"][-1]
    facts = {"Largest k": found["largest_k"], "Vertices of its truss": largest["vertices"], "Edges of its truss": largest["edges"]}
    check("the largest truss", all(f"{name} {thousands(value)}" in text for name, value in facts.items()), facts)
    ended = f"Peeling ended at k = {found['until']}:"
    check("where peeling ended", (ended in text) == (found["until"] is not None), ended)


def count(check, page, result):
    text = page.text()
    check("the answer", f"{thousands(result['triangles'])} triangle" in text, text[:200])
    check("the graph", f"{thousands(result['vertices'])} vert" in text and f"{thousands(result['edges'])} edge" in text)
    check("the budget", size(result["device_memory"]) in text)
    for part in (memory_of_count, stages_of_count, timeline_of_count, degrees_of_count, trusses_of_count):
        part(check, page, result)
    if result.get("clustering"):
        check("clustering", f"{result['clustering']['average_clustering_of_degree_2']:.4g}" in page.text())
        rows = page.table("Quantiles over the vertices")
        check("quantiles", [row["triangles, at most"] for row in rows] == [thousands(q["triangles"]) for q in result["clustering"]["quantiles"]], rows)
        local = [row["local clustering, degree 2 and more, at most"] for row in rows]
        check("quantiles of vertices of degree 2 and more", local == [f"{q['local']:#.4g}" for q in result["clustering"]["quantiles"]], rows)
    if result["devices"]:
        rows = page.table("GPUs")
        check("the table of GPUs", [(r["name"], r["budget"], r["triangles"]) for r in rows]
              == [(d["name"], size(d["budget_bytes"]), thousands(d["triangles"])) for d in result["devices"]], rows)
    rows = {row[""]: row["number"] for row in page.table("Input, and what cleaning changed")}
    check("the input", rows["arcs in the input"] == thousands(result["input"]["arcs"])
          and rows["loops removed"] == thousands(result["input"]["loops_removed"]), rows)


def tables_fit(check, page, width):
    """No visible table is wider than its container."""
    wide = page.page.evaluate("[...document.querySelectorAll('.scroll')].filter((p) => p.clientWidth > 0 && p.scrollWidth > p.clientWidth + 1)"
                              ".map((p) => [p.getAttribute('aria-label'), p.scrollWidth, p.clientWidth])")
    check(f"tables fit {width} pixels", not wide, wide)


def plan(check, page, result):
    check("the answer", ("The job fits" if result["fits"] else "The job does not fit") in page.text())
    check("advice", all(advice in page.text() for advice in result["advice"]))
    for disk in result["disks"]:
        lacks = f"at least {size(disk['least_bytes'])}, of {size(disk['free_bytes'])} free." in page.text()
        check("a disk that lacks room", lacks == (disk["least_bytes"] > disk["free_bytes"]), disk)
    parts = result["partitions"]
    chart = page.chart("Predicted peak")
    series = chart["series"]
    budget_is_shown(check, chart, result["device_memory"], max(p["peak_bytes_predicted"] for p in parts))
    stacked = [sum(values) for values in zip(*(one["data"] for one in series))]
    check("parts of memory add up to the peak", stacked == [p["peak_bytes_predicted"] for p in parts], stacked[:3])
    check("resident rows", series[0]["data"] == [p["resident_bytes"] for p in parts])
    check("row blocks", series[1]["data"] == [p["largest_block_bytes"] for p in parts])
    text = " ".join(page.text().split())
    check("seconds", f"The job takes about {time(result['seconds'])}: preparing the graph {time(result['preparing']['seconds'])}" in text
          and f"counting {time(result['counting_seconds'])}" in text, text[:900])
    if result["more_memory"]:
        rows = page.table("More memory")
        check("more memory", [(r["budget"], r["at least"], r["partitions"], r["the job, about"]) for r in rows]
              == [(f"--{m['budget']}-memory", size(m["bytes"]), thousands(m["parts"]), time(m["seconds"])) for m in result["more_memory"]], rows)
    check("no more memory", ("More memory would not save time." in text) == (not result["more_memory"]))
    rows = page.table(f"Numbers of {thousands(len(parts))} partition{'' if len(parts) == 1 else 's'}")
    check("the table of partitions", [(r["part"], r["peak at most"], r["fits"]) for r in rows]
          == [(str(p["id"]), size(p["peak_bytes_predicted"]), "yes" if p["fits"] else "no") for p in parts], rows[:3])
    if result["alternatives"]:
        peaks, streamed = page.chart("More parts")["series"]
        check("peaks of alternatives", peaks["data"] == [a["largest_peak_bytes"] for a in result["alternatives"]], peaks["data"])
        check("bytes of alternatives", streamed["data"] == [a["stream_bytes"] for a in result["alternatives"]], streamed["data"])
        rows = page.table("Other numbers of parts")
        check("the table of alternatives", [(r["parts"], r["streamed"]) for r in rows]
              == [(thousands(a["parts"]), size(a["stream_bytes"])) for a in result["alternatives"]], rows)
    if result["host_floors"]:
        floors = page.chart("The smallest budgets of the host")
        check("floors of the host", floors["series"][0]["data"] == [f["bytes"] for f in result["host_floors"]])
        check("stages of these floors", floors["y"] == [f["stage"] for f in result["host_floors"]], floors["y"])


def given(settings, before=""):
    """Names and texts of all settings that are not null, also of those in nested tables; memory is shown as a size."""
    for key, value in settings.items():
        name = f"{before}{key.replace('_', ' ')}"
        if isinstance(value, dict):
            yield from given(value, f"{name} ")
        elif value is not None:
            yield name, size(value) if before == "memory " else f"{value:g}" if isinstance(value, float) else str(value)


def bench(check, page, result):
    section = page.page.locator("article:not([hidden]) section").filter(has=page.page.get_by_role("heading", name="Settings", exact=True))
    facts = list(zip(section.locator("dt").all_text_contents(), section.locator("dd").all_text_contents()))
    check("settings", facts == list(given(result["settings"])), facts)
    charts = [chart for chart in page.charts() if chart["label"].startswith("Time of each method")]
    graphs = [graph for graph in result["graphs"] if not graph["problem"]]
    check("a chart for each graph", len(charts) == len(graphs), len(charts))
    wrong = [m for graph in graphs for m in graph["methods"] if m["correct"] is False]
    check("wrong counts in the answer", ("wrong count" in page.text()) == bool(wrong), page.text()[:200])
    compared = sum(any(m["correct"] is not None for m in graph["methods"]) for graph in result["graphs"])
    left = len(result["graphs"]) - compared
    agree = f"{compared} graph{'' if compared == 1 else 's'}: all counts agree" + (f", {left} could not be compared" if left else "")
    answer = page.page.locator("article:not([hidden]) .answer")
    check("how many graphs agree", wrong or answer.inner_text() == agree, answer.inner_text())
    check("a bad answer is shown as one", ("bad" in answer.get_attribute("class").split()) == bool(wrong or left), answer.get_attribute("class"))
    for chart, graph in zip(charts, graphs):
        bars, ranges, whole = chart["series"][:3]
        done = sorted((m for m in graph["methods"] if m["kernel_seconds"]), key=lambda m: m["kernel_seconds"]["median"])
        check("medians, the fastest first", all_close([bar["value"] for bar in bars["data"] if bar["value"] is not None],
                                                      [m["kernel_seconds"]["median"] for m in done]), bars["data"])
        check("fastest and slowest runs", all(all_close(r[:2], [m["kernel_seconds"]["min"], m["kernel_seconds"]["max"]])
                                              for r, m in zip(ranges["data"], done)) and len(ranges["data"]) == len(done), ranges["data"])
        check("whole jobs", all_close([w[0] for w in whole["data"]], [m["seconds"]["median"] for m in done]), whole["data"])
        rows = page.table(f"Methods on {graph['graph'].rsplit('/', 1)[-1]}")
        check("a row for each method", len(rows) == len(graph["methods"]), rows)
        words = [row["count"] for row in rows]
        check("wrong counts in the table", words.count("WRONG COUNT") == sum(m["correct"] is False for m in graph["methods"]), words)
        reasons = [m["problem"]["message"] for m in graph["methods"] if m["problem"]]
        check("reasons are given in full", all(" ".join(reason.split()) in " ".join(page.text().split()) for reason in reasons), reasons)


def failure(check, page, result):
    check("the failure", "The job failed" in page.text() and result["error"]["message"] in page.text(), page.text()[:300])


KINDS = {"count": count, "plan": plan, "bench": bench, "failure": failure}
