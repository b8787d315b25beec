"""A page in headless Chromium: what it logs and requests, its charts, tables and texts."""

import os
import shutil
from contextlib import contextmanager

from playwright.sync_api import sync_playwright

# Every chart that is drawn: what it was told to draw, and its number of marks or, on a canvas, the number of colours of its pixels.
CHARTS = """() => [...document.querySelectorAll('.plot')].filter((plot) => plot.clientWidth > 0).map((plot) => {
    const chart = echarts.getInstanceByDom(plot), svg = plot.querySelector('svg'), canvas = plot.querySelector('canvas');
    const colours = ({ width, height }) => {
        const copy = Object.assign(document.createElement('canvas'), { width, height }).getContext('2d', { willReadFrequently: true });
        copy.drawImage(plot.querySelector('canvas'), 0, 0);
        return new Set(new Uint32Array(copy.getImageData(0, 0, width, height).data.buffer)).size;
    };
    const option = chart ? chart.getOption() : { series: [], xAxis: [{}], yAxis: [{}] };
    return {
        label: plot.getAttribute('aria-label'), role: plot.getAttribute('role'), width: plot.clientWidth,
        marks: svg ? svg.querySelectorAll('path, rect').length : canvas ? colours(canvas) : 0,
        series: option.series.map(({ name, type, data, stack, itemStyle, lineStyle }) => ({
            name, type, data, stack: stack ?? null, dashed: (type === 'line' ? lineStyle?.type : itemStyle?.borderType) === 'dashed',
        })),
        top: plot.getBoundingClientRect().top,
        lines: option.series.flatMap(({ markLine }) => (markLine?.data ?? []).map(({ xAxis, yAxis }) => xAxis ?? yAxis)),
        x: option.xAxis[0].data ?? null, y: option.yAxis[0].data ?? null,
    };
})"""

# Texts of SVG charts that are cut by the chart's edge, or overlap another.
CROWDED = """() => [...document.querySelectorAll('.plot svg')].filter((svg) => svg.clientWidth > 0).flatMap((svg) => {
    const frame = svg.getBoundingClientRect(), texts = [...svg.querySelectorAll('text')].filter((text) => text.textContent.trim());
    const boxes = texts.map((text) => [text.textContent, text.getBoundingClientRect()]);
    const cut = boxes.filter(([, b]) => b.left < frame.left - 2 || b.right > frame.right + 2 || b.top < frame.top - 2 || b.bottom > frame.bottom + 2);
    const over = boxes.flatMap(([one, a], i) => boxes.slice(i + 1).filter(([, b]) => Math.min(a.right, b.right) - Math.max(a.left, b.left) > 2
        && Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > 6).map(([other]) => `${one} over ${other}`));
    return [...cut.map(([text]) => `${text} is cut`), ...over];
})"""

# The least contrast between a text and its background (WCAG 2), over the page and its charts.
CONTRAST = """() => {
    const parse = (colour) => (colour.match(/[\\d.]+/g) ?? []).map(Number);
    const light = ([r, g, b]) => [r, g, b].map((v) => v / 255).map((v) => (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4))
        .reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
    const behind = (element) => {
        for (let at = element; at; at = at.parentElement) {
            const colour = parse(getComputedStyle(at).backgroundColor);
            if (colour.length === 3) { return colour; }
        }
        return [255, 255, 255];
    };
    const contrast = (a, b) => { const [x, y] = [light(a), light(b)].sort((p, q) => q - p); return (x + 0.05) / (y + 0.05); };
    const own = (element) => [...element.childNodes].some((node) => node.nodeType === 3 && node.data.trim());
    // Texts in the colour of the page are on marks, whose colours are compared below.
    const onMark = (element) => element.tagName === 'text' && getComputedStyle(element).fill === getComputedStyle(document.body).backgroundColor;
    const texts = [...document.querySelectorAll('main *')].filter((element) => own(element) && element.getClientRects().length > 0 && !onMark(element));
    const style = getComputedStyle(document.documentElement);
    const hex = (name) => style.getPropertyValue(`--${name}`).trim().match(/[0-9a-f]{2}/g).map((pair) => parseInt(pair, 16));
    const marks = ['blue', 'orange', 'green', 'purple', 'muted'].map((name) => [contrast(hex(name), hex('page')), name]);
    const inside = (text) => text.closest('svg') && text.tagName === 'text';
    return texts.map((text) => [contrast(parse(getComputedStyle(text)[inside(text) ? 'fill' : 'color']), behind(text)), text.textContent.slice(0, 40)])
        .concat(marks).sort((a, b) => a[0] - b[0])[0];
}"""

TABLE = """(table) => [...table.querySelectorAll('tbody tr')].map((row) => [...row.cells].map((cell) => cell.textContent))"""
HEADINGS = """(table) => [...table.querySelectorAll('thead th')].map((cell) => cell.textContent)"""


class Opened:
    """An open page."""

    def __init__(self, page):
        self.page, self.logged, self.requested = page, [], []
        page.on("console", lambda message: self.logged.append(message.text))
        page.on("pageerror", lambda error: self.logged.append(str(error)))
        page.on("request", lambda request: self.requested.append(request.url))

    def wait_until(self, condition):
        """Waits until this expression of JavaScript is true. (Playwright's own `wait_for_function` evaluates it by `eval` if it is not
        true at once, which the page's content security policy forbids.)"""
        for _ in range(600):
            if self.page.evaluate(condition):
                return
            self.page.wait_for_timeout(50)
        raise TimeoutError(f"not true within 30 s: {condition}")

    def charts(self):
        return self.page.evaluate(CHARTS)

    def chart(self, beginning):
        """The chart whose label begins with this text."""
        return next(chart for chart in self.charts() if chart["label"].startswith(beginning))

    def table(self, label):
        """The rows of the visible table with this label, as objects by heading. Closed details around it are opened."""
        self.page.evaluate("(() => document.querySelectorAll('article:not([hidden]) details').forEach((d) => { d.open = true; }))()")
        table = self.page.locator(f'article:not([hidden]) [aria-label="{label}"] table')
        table.first.wait_for()
        headings, rows = table.first.evaluate(HEADINGS), table.first.evaluate(TABLE)
        return [dict(zip(headings, row)) for row in rows]

    def saved(self):
        """The text of the file that 'Save the JSON' gives."""
        with self.page.expect_download() as download:
            self.page.locator("article:not([hidden])").get_by_role("button", name="Save the JSON").click()
        with open(download.value.path(), encoding="utf-8", newline="") as file:
            return file.read()

    def text(self):
        return self.page.locator("main").inner_text()


@contextmanager
def chromium():
    root = os.geteuid() == 0
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"] if root else [])
        yield browser
        browser.close()


@contextmanager
def opened(browser, path, width=1600, scheme="light", script=True, fragment=""):
    context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme, java_script_enabled=script)
    context.set_default_timeout(15_000)
    page = Opened(context.new_page())
    page.page.goto(f"file://{path}{fragment}")
    try:
        yield page
    finally:
        context.close()
