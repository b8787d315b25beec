"""Opens reports in headless Chromium and checks them; scripts/check-report starts it."""

import argparse
import json
import re
import sys
import tempfile
from pathlib import Path

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


def shown_and_right(tally, browser, report):
    """The values at 1600 pixels, and that the page is readable at both widths, light and dark."""
    for width, scheme in ((1600, "light"), (400, "dark")):
        for i, (kind, result) in enumerate(report.results, 1):
            check = tally.of(f"{report.name} #{i} at {width}, {scheme}")
            with opened(browser, report.path, width, scheme, fragment=f"#result-{i}") as page:
                if i == 1:
                    checks.page_is_sound(check, page, report)
                checks.page_is_readable(check, page)
                page.page.emulate_media(color_scheme="light" if scheme == "dark" else "dark")
                page.page.set_viewport_size({"width": 2000 - width, "height": 900})
                page.page.wait_for_timeout(50)
                checks.page_is_readable(tally.of(f"{report.name} #{i} at {2000 - width}, changed from {scheme}"), page)
                if width == 1600:
                    checks.KINDS[kind](check, page, result)
                    saved(check, page, report.lines[i - 1][1])
                    check("still nothing is logged", not page.logged, page.logged)


def printed(tally, browser, report):
    """A page for each result at least, with every chart, in light colours; then the window is as before."""
    check = tally.of(f"{report.name} on paper")
    with opened(browser, report.path, 1600, "dark") as page:
        before = len(page.charts())
        text = page.page.pdf(prefer_css_page_size=True)
        pages = len(re.findall(rb"/Type\s*/Page\b", text))
        check("pages", pages >= len(report.results), pages)
        page.page.emulate_media(media="print")
        charts = page.charts()
        check("all entries have their charts", len(charts) >= before and all(chart["marks"] > 3 for chart in charts), len(charts))
        check("charts fit the paper", all(chart["width"] <= 1600 for chart in charts))
        check("entries are all visible", page.page.locator("article").count() == len(report.results)
              and all(one.is_visible() for one in page.page.locator("article").all()))
        background = page.page.evaluate("getComputedStyle(document.body).backgroundColor")
        check("paper is white", background == "rgb(255, 255, 255)", background)
        page.page.emulate_media(media="screen")
        check("the window is as before", len(page.charts()) == before)
        check("nothing is logged", not page.logged, page.logged)


def saved(check, page, line):
    """'Save the JSON' gives the bytes that the command printed."""
    with page.page.expect_download() as download:
        page.page.locator("article:not([hidden])").get_by_role("button", name="Save the JSON").click()
    text = Path(download.value.path()).read_text()
    check("the JSON is saved byte for byte", text == line, text[:200])


def screenshots(browser, reports, folder):
    folder.mkdir(parents=True, exist_ok=True)
    by_name = {report.name: report for report in reports}
    for name, file, heading in [("partitions", "memory", "Memory of each partition"), ("few", "timeline", "Timeline"),
                                ("bench", "bench", "ca-HepTh.txt"), ("plan", "plan", "Memory of each partition")]:
        with opened(browser, by_name[name].path, 1100) as page:
            section = page.page.locator("section").filter(has=page.page.get_by_role("heading", name=heading, exact=True))
            if section.count() > 0:
                section.first.screenshot(path=folder / f"{file}.png")
    with opened(browser, by_name["count"].path, 1100) as page:
        page.page.screenshot(path=folder / "count.png", clip={"x": 0, "y": 0, "width": 1100, "height": 640})


def main():
    parser = argparse.ArgumentParser(prog="check-report", description="Checks reports in headless Chromium.")
    parser.add_argument("program", type=Path)
    parser.add_argument("--screenshots", type=Path, metavar="DIR", help="writes the pictures of docs/report.md there, and checks nothing")
    arguments = parser.parse_args()
    tally = Tally()
    with tempfile.TemporaryDirectory() as folder, chromium() as browser:
        reports = jobs.made(arguments.program.resolve(), Path(folder))
        if arguments.screenshots:
            screenshots(browser, reports, arguments.screenshots)
            return 0
        made_up = samples.reports(Path(folder), reports)
        for report in reports + made_up:
            shown_and_right(tally, browser, report)
            size = report.path.stat().st_size
            tally.of(report.name)("the page is below 2 MB", size < 2_000_000, size)
        for report in reports + made_up:
            if report.name in ("run", "partitions", "gpus"):
                printed(tally, browser, report)
        for special in SPECIAL:
            special(tally.of(special.__name__), browser, Path(folder), {report.name: report for report in reports})
    print(f"{tally.passed} passed, {tally.failed} failed")
    return 0 if tally.failed == 0 and tally.passed > 0 else 1


if __name__ == "__main__":
    sys.exit(main())
