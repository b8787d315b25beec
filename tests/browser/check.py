"""Opens reports in headless Chromium and checks them; scripts/check-report starts it."""

import argparse
import json
import re
import sys
import tempfile
from pathlib import Path

from playwright.sync_api import Error as PlaywrightError

import checks
import jobs
import samples
from browser import chromium, opened
from special import SPECIAL


class Tally:
    """Counts checks; prints those that fail."""

    def __init__(self):
        self.passed = self.failed = 0

    def of(self, where):
        def check(name, holds, detail=""):
            self.passed += bool(holds)
            self.failed += not holds
            if not holds:
                print(f"FAILED {where}: {name}: {str(detail)[:600]}", file=sys.stderr)
        return check

    def attempt(self, where, of, *arguments):
        """Calls `of`. If the page lacks something, or shows it too late, this check fails and the others continue."""
        try:
            of(*arguments)
        except (PlaywrightError, KeyError, IndexError, StopIteration, TypeError, ValueError) as error:
            self.of(where)("the page has what is looked for", False, repr(error))


def shown_and_right(tally, browser, report, place, width, scheme):
    """The result at `place`: its values, and that the page is readable; again when the window and the colour scheme change."""
    kind = report.results[place][0]
    check = tally.of(f"{report.name} #{place + 1} at {width}, {scheme}")
    with opened(browser, report.path, width, scheme, fragment=f"#result-{place + 1}") as page:
        if place == 0:
            checks.page_is_sound(check, page, report)
        checks.page_is_readable(check, page)
        page.page.emulate_media(color_scheme="light" if scheme == "dark" else "dark")
        page.page.set_viewport_size({"width": 2000 - width, "height": 900})
        checks.page_is_readable(tally.of(f"{report.name} #{place + 1} at {2000 - width}, changed from {scheme}"), page)
        if width == 1600:
            text = page.saved()
            checks.saved_result(check, text, report.lines[place][1])
            checks.KINDS[kind](check, page, json.loads(text))
            check("still nothing is logged", not page.logged, page.logged)
            checks.texts_are_no_objects(check, page)


def printed(tally, browser, report):
    """On paper each result has at least one page, with every chart, in light colours; afterwards the window is as before."""
    check = tally.of(f"{report.name} on paper")
    with opened(browser, report.path, 1600, "dark") as page:
        before = len(page.charts())
        page.page.evaluate("dispatchEvent(new Event('beforeprint'))")
        checks.page_is_light(check, page)
        page.page.evaluate("dispatchEvent(new Event('afterprint'))")
        text = page.page.pdf(prefer_css_page_size=True)
        pages = len(re.findall(rb"/Type\s*/Page\b", text))
        check("pages", pages >= len(report.results), pages)
        page.page.emulate_media(media="print")
        charts = page.charts()
        check("all entries have their charts", len(charts) >= before and all(chart["marks"] > 3 for chart in charts), len(charts))
        check("charts fit the paper", all(chart["width"] <= 1600 for chart in charts))
        check("entries are all visible", page.page.locator("article").count() == len(report.results)
              and all(one.is_visible() for one in page.page.locator("article").all()))
        checks.page_is_light(check, page)
        page.page.emulate_media(media="screen")
        check("the window is as before", len(page.charts()) == before)
        check("nothing is logged", not page.logged, page.logged)


# The pictures of docs/report.md: the report, the heading of the section, the file.
PICTURES = [
    ("cnr-2000", "Memory of each partition", "memory"),
    ("h200", "Timeline", "timeline"),
    ("cnr-2000", "Stages: time, bytes and rates", "stages"),
    ("count", "Degrees", "degrees"),
    ("truss", "Trusses", "trusses"),
    ("plan", "Other numbers of parts", "alternatives"),
    ("bench", "wiki-Vote.txt", "bench"),
]


def screenshots(browser, reports, folder):
    folder.mkdir(parents=True, exist_ok=True)
    paths = {report.name: report.path for report in reports}
    with opened(browser, paths["cnr-2000"], 1120) as page:
        page.page.screenshot(path=folder / "count.png", clip={"x": 0, "y": 0, "width": 1120, "height": 368})
    for name, heading, file in PICTURES:
        with opened(browser, paths[name], 1120) as page:
            section = page.page.locator("section").filter(has=page.page.get_by_role("heading", name=heading, exact=True))
            section.first.screenshot(path=folder / f"{file}.png")


def main():
    parser = argparse.ArgumentParser(prog="check-report", description="Checks reports in headless Chromium.")
    parser.add_argument("program", type=Path)
    parser.add_argument("--screenshots", type=Path, metavar="DIR", help="writes the pictures of docs/report.md there, and checks nothing")
    arguments = parser.parse_args()
    tally = Tally()
    with tempfile.TemporaryDirectory() as folder, chromium() as browser:
        reports = jobs.made(arguments.program.resolve(), Path(folder))
        made_up = samples.reports(Path(folder), reports)
        if arguments.screenshots:
            screenshots(browser, reports + made_up, arguments.screenshots)
            return 0
        for report in reports + made_up:
            size = report.path.stat().st_size
            tally.of(report.name)("the page is below 2 MB", size < 2_000_000, size)
            if report.name in ("bench", "problems"):
                with opened(browser, report.path, 1280) as page:
                    checks.tables_fit(tally.of(f"{report.name} at 1280"), page, 1280)
            for place in range(len(report.results)):
                for width, scheme in ((1600, "light"), (400, "dark")):
                    tally.attempt(report.name, shown_and_right, tally, browser, report, place, width, scheme)
            if report.name in ("run", "partitions", "gpus"):
                tally.attempt(report.name, printed, tally, browser, report)
        for special in SPECIAL:
            name = special.__name__
            tally.attempt(name, special, tally.of(name), browser, Path(folder), {report.name: report for report in reports})
    print(f"{tally.passed} passed, {tally.failed} failed")
    return 0 if tally.failed == 0 and tally.passed > 0 else 1


if __name__ == "__main__":
    sys.exit(main())
