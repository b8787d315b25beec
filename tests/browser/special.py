"""Checks of one thing each: the keyboard, hovering, hostile texts, large numbers, waits, JavaScript that is off."""

import copy

import jobs
import samples
from browser import opened
from texts import size, thousands, time


def jobs_are_chosen_by_keyboard_and_address(check, browser, folder, reports):
    run = reports["run"]
    with opened(browser, run.path) as page:
        check("the first job is shown", page.page.locator("#entry-result-1").is_visible() and not page.page.locator("#entry-result-3").is_visible())
        page.page.locator("#choice").focus()
        page.page.keyboard.press("ArrowDown")
        page.page.locator("#entry-result-2").wait_for(state="visible")
        check("the keyboard chooses the second", page.page.url.endswith("#result-2"), page.page.url)
        check("charts of the third are drawn when it is chosen", page.page.locator("#entry-result-3 svg").count() == 0)
        page.page.get_by_role("link", name="parts").click()
        page.page.locator("#entry-result-3").wait_for(state="visible")
        check("a link chooses the third", page.page.locator("#entry-result-3 svg").count() > 0)
        check("all jobs are in the table", page.page.locator("[aria-label='All jobs'] tbody tr").count() == len(run.results))
    with opened(browser, run.path, fragment="#result-2") as page:
        check("the address chooses", page.page.locator("#entry-result-2").is_visible() and not page.page.locator("#entry-result-1").is_visible())


def hovering_shows_the_numbers(check, browser, folder, reports):
    report = reports["partitions"]
    _, result = report.results[0]
    with opened(browser, report.path) as page:
        plot = page.page.locator(".plot").first
        plot.scroll_into_view_if_needed()
        box = plot.bounding_box()
        page.page.mouse.move(box["x"] + box["width"] * 0.5, box["y"] + box["height"] * 0.5)
        tip = page.page.locator(".tip").first
        tip.wait_for(state="visible")
        text = tip.inner_text()
        number = int(text.split()[1])
        partition = result["partitions"][number]
        check("predicted and actual", size(partition["peak_bytes"]) in text and size(partition["peak_bytes_predicted"]) in text, text)
        check("triangles", thousands(partition["triangles"]) in text, text)


def partitions_are_ordered(check, browser, folder, reports):
    report = reports["partitions"]
    _, result = report.results[0]
    with opened(browser, report.path) as page:
        page.page.get_by_label("Order of partitions").select_option("largest")
        actual = next(one["data"] for one in page.chart("Device memory of")["series"] if one["name"] == "actual peak")
        check("the largest come first", actual == sorted((p["peak_bytes"] for p in result["partitions"]), reverse=True), actual[:5])


def texts_of_a_result_are_never_markup(check, browser, folder, reports):
    hostile = "</script><img src=x onerror=\"document.title='owned'\"><b>\u2028<!-- \\u003c"
    failure = {"schema_version": 1, "version": "0.1.0", "job": hostile, "error": {"kind": "data", "message": hostile}}
    count = samples.on_gpus(copy.deepcopy(reports["count"].results[0][1]))
    count.update(job=hostile, method=hostile, partitioner=hostile)
    count["stages"][0]["name"] = hostile
    count["devices"][0]["name"] = hostile
    for track in count["timeline"]["tracks"]:
        track["name"] = hostile
        track["spans"][0]["name"] = hostile
    report = jobs.made_up_report("hostile", folder, ("failure", failure), ("count", count))
    for i in (1, 2):
        with opened(browser, report.path, fragment=f"#result-{i}") as page:
            if i == 2:
                page.table("Stages")
                plot = page.page.locator("article:not([hidden]) .plot").nth(1)
                plot.scroll_into_view_if_needed()
                box = plot.bounding_box()
                page.page.mouse.move(box["x"] + box["width"] * 0.5, box["y"] + 80)
            page.page.wait_for_timeout(100)
            check("no element comes from a text", page.page.locator("img, main b").count() == 0 and "owned" not in page.page.title(), page.page.title())
            check("the text is shown as it is", hostile.split("\u2028")[0] in page.text(), page.text()[:300])
            check("nothing is logged", not page.logged, page.logged)
            text = page.saved()
            check("the JSON is saved byte for byte", text == report.lines[i - 1][1], text[:200])


def numbers_above_two_to_the_53_are_exact(check, browser, folder, reports):
    count = copy.deepcopy(reports["count"].results[0][1])
    count.update(triangles=2 ** 70 + 1, wedges=2 ** 75 + 3)
    count["partitions"][0]["triangles"] = 2 ** 63 + 1
    report = jobs.made_up_report("large", folder, ("count", count))
    with opened(browser, report.path) as page:
        check("the answer", f"{2 ** 70 + 1:,} triangles" in page.text(), page.text()[:200])
        check("wedges", f"{2 ** 75 + 3:,}" in page.text())
        check("a partition", page.table("Numbers of 1 partition")[0]["triangles"] == f"{2 ** 63 + 1:,}")


def waits_are_those_of_the_spans(check, browser, folder, reports):
    """Of each 10 ms the host waits 6 ms for rows; kernels run for 4 ms, then for 7 ms."""
    for took, share in ((0.004, "60%"), (0.007, "30%")):
        count = samples.on_gpus(copy.deepcopy(reports["count"].results[0][1]))
        for span in count["timeline"]["tracks"][-1]["spans"]:
            span.update(seconds=took, busy=took)
        report = jobs.made_up_report(f"waits-{share[:2]}", folder, ("count", count))
        with opened(browser, report.path) as page:
            check(f"kernels of {took} s", f"The GPU waited {share} of counting for rows." in page.text(), page.text()[:900])


def tables_that_go_on_show_it(check, browser, folder, reports):
    """An edge of a table fades exactly if there is more to scroll to behind it."""
    cuts = "(e) => ['left', 'right', 'below'].filter((edge) => e.classList.contains(`cut-${edge}`)).join(' ')"
    faded = "(e) => [...getComputedStyle(e).maskImage.matchAll(/calc\\(100% - (\\d+)px\\)/g)].map((found) => Number(found[1]))"
    with opened(browser, reports["count"].path, 400) as page:
        place = page.page.locator("[aria-label='Stages'].scroll")
        place.scroll_into_view_if_needed()
        page.wait_until("document.querySelector(\"[aria-label='Stages'].scroll\").classList.contains('cut-right')")
        check("on the right", place.evaluate(cuts) == "right", place.evaluate(cuts))
        check("it fades", [width > 20 for width in place.evaluate(faded)][:1] == [True], place.evaluate(faded))
        place.evaluate("(e) => e.scrollTo(e.scrollWidth, 0)")
        page.page.wait_for_timeout(200)
        check("on the left, at the end", place.evaluate(cuts) == "left", place.evaluate(cuts))
        page.page.set_viewport_size({"width": 1600, "height": 900})
        page.page.wait_for_timeout(200)
        check("nowhere in a wide window", place.evaluate(cuts) == "", place.evaluate(cuts))
        check("nothing fades", not any(place.evaluate(faded)), place.evaluate(faded))
    with opened(browser, reports["partitions"].path, 1600) as page:
        page.table("Numbers of 300 partitions")
        place = page.page.locator("[aria-label='Numbers of 300 partitions'].scroll")
        page.page.wait_for_timeout(200)
        check("below", "below" in place.evaluate(cuts), place.evaluate(cuts))


def a_result_stands_beside_an_earlier_one(check, browser, folder, reports):
    report = reports["against"]
    (_, now), earlier = report.results[0], report.earlier
    with opened(browser, report.path) as page:
        check("the verdict", "Both have the same input and counted the same: 28,339 triangles." in page.text(), page.text()[:900])
        rows = {row["count"]: (row["this"], row["earlier"], row["this / earlier"]) for row in page.table("Counts of both")}
        check("triangles", rows["triangles"] == ("28,339", "28,339", "1.00×"), rows)
        rows = {row["time"]: (row["this"], row["earlier"], row["this / earlier"]) for row in page.table("Seconds of both")}
        seconds = [{stage["name"]: stage["seconds"] for stage in of["stages"]} | {"whole job": of["seconds"]} for of in (now, earlier)]
        wanted = {name: tuple(time(of[name]) if name in of else "–" for of in seconds) for name in {*seconds[0], *seconds[1]}}
        check("seconds", {name: row[:2] for name, row in rows.items()} == wanted, (rows, wanted))
        ratio = float(rows["whole job"][2].rstrip("×"))
        check("the ratio", abs(ratio / (now["seconds"] / earlier["seconds"]) - 1) < 0.01, rows["whole job"])
        rows = {row["memory"]: (row["this"], row["earlier"]) for row in page.table("Memory of both")}
        peaks = [(size(of["peak_host_bytes"]), size(max(p["peak_bytes"] for p in of["partitions"]))) for of in (now, earlier)]
        check("memory", (rows["host"], rows["largest partition"]) == tuple(zip(*peaks)), rows)
        this, before = page.chart("Time of each stage in both")["series"]
        names = page.chart("Time of each stage in both")["y"]
        check("stages in the chart", [this["data"], before["data"]] == [[of.get(name) for name in names] for of in seconds], (this, before))
        rows = {row["setting"]: (row["this"], row["earlier"]) for row in page.table("What differs")}
        check("what differs", (rows["parts"], rows["seed"]) == (("1", "5"), ("1", "2")), rows)
        check("nothing is logged", not page.logged, page.logged)
    wrong = copy.deepcopy(earlier)
    wrong["triangles"] += 1
    other = copy.deepcopy(earlier)
    other.update(edges=earlier["edges"] + 1, triangles=earlier["triangles"] + 1)
    clustered = copy.deepcopy(reports["count"].results[0][1])
    clustered["clustering"]["most_triangles"] += 7
    for name, before, result, words in [
        ("wrong", wrong, now, "THE COUNTS DIFFER for the same input, so one of them is wrong: triangles 28,339 and 28,340."),
        ("clustered", clustered, reports["count"].results[0][1], "THE COUNTS DIFFER for the same input, so one of them is wrong: most triangles"),
        ("other", other, now, "The inputs differ, so do not compare: edges"),
    ]:
        made = jobs.made_up_report(f"against-{name}", folder, ("count", result), earlier=before)
        with opened(browser, made.path) as page:
            bad = page.page.locator("article:not([hidden]) .verdict strong.bad")
            check(f"{name} is an error", bad.count() == 1 and bad.inner_text().startswith(words), page.page.locator(".verdict").inner_text())
            check(f"nothing is logged of {name}", not page.logged, page.logged)


def halves_are_rounded_to_the_even_digit(check, browser, folder, reports):
    """As the program and Python round them: times in a report are whole nanoseconds, so halves of microseconds occur."""
    _, earlier = reports["count"].results[0]
    result = copy.deepcopy(earlier)
    for stage, seconds in zip(result["stages"], [0.0008725, 0.0008735, 0.09765625, 1.125]):
        stage["seconds"] = seconds
    made = jobs.made_up_report("halves", folder, ("count", result), earlier=earlier)
    with opened(browser, made.path) as page:
        shown = [row["this"] for row in page.table("Seconds of both")][1:5]
        check("halves", shown == ["872 µs", "874 µs", "97.7 ms", "1.12 s"], shown)


def without_javascript_the_json_is_pointed_to(check, browser, folder, reports):
    with opened(browser, reports["count"].path, script=False) as page:
        check("a hint", "need JavaScript" in page.page.locator("body").inner_text())


SPECIAL = [
    jobs_are_chosen_by_keyboard_and_address, hovering_shows_the_numbers, partitions_are_ordered, texts_of_a_result_are_never_markup,
    numbers_above_two_to_the_53_are_exact, waits_are_those_of_the_spans, tables_that_go_on_show_it,
    a_result_stands_beside_an_earlier_one, halves_are_rounded_to_the_even_digit, without_javascript_the_json_is_pointed_to,
]
