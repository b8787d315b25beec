// Figures: a chart of the library, a label for screen readers, and its numbers as a table. A chart is drawn when its entry is
// shown, and again when the width of the window, the colour scheme or the medium changes. Colours are those of the style sheet.

/** Every figure of the page: where it is drawn, and how. */
const figures = [];

/** The width of a chart on paper, in CSS pixels: that of A4 and Letter between their margins. */
const PAPER = 690;

const COLOURS = ["text", "muted", "line", "panel", "page", "blue", "orange", "green", "purple", "pale", "wait", "bad"];

/** The colours of the style sheet, for the present scheme. */
function palette() {
    const style = getComputedStyle(document.documentElement);
    return Object.fromEntries(COLOURS.map((name) => [name, style.getPropertyValue(`--${name}`).trim()]));
}

/**
 * A figure. `label` says what the chart shows; `height(width)` is in pixels; `option({ colours, width })` is what the library draws;
 * `table` is an element with the numbers; `canvas` is set for charts with thousands of marks.
 */
function figure({ label, height, option, table, canvas = false, controls = null }) {
    const plot = el("div", { class: "plot", role: "img", "aria-label": label });
    figures.push({ plot, height, option, canvas, drawn: null });
    return el("figure", {}, el("figcaption", {}, label), controls, plot, table);
}

/** Draws a figure, `width` pixels wide. */
function draw(one, width) {
    const height = one.height(width);
    one.plot.style.height = `${height}px`;
    let chart = echarts.getInstanceByDom(one.plot);
    if (chart) {
        chart.resize({ width, height });
    } else {
        chart = echarts.init(one.plot, null, { width, height, renderer: one.canvas ? "canvas" : "svg" });
    }
    chart.setOption(common(one.option({ colours: palette(), width }), palette()), { notMerge: true });
    one.drawn = width;
}

/** Draws the figures that are visible and not drawn at their width, or all visible ones. */
function drawVisible(again = false) {
    for (const one of figures) {
        const width = one.plot.clientWidth;
        if (width > 0 && (again || one.drawn !== width)) {
            draw(one, width);
        }
    }
}

/** Redraws a figure after a control of it changed. */
function redraw(plotOf) {
    const one = figures.find(({ plot }) => plotOf.contains(plot));
    draw(one, one.plot.clientWidth);
}

/** Light colours and the width of paper, for all entries; and back. */
function preparePaper(on) {
    const root = document.documentElement;
    if (on !== root.classList.contains("paper")) {
        root.classList.toggle("paper", on);
        if (on) {
            figures.forEach((one) => draw(one, PAPER));
        } else {
            drawVisible(true);
        }
    }
}

function watchWindow() {
    new ResizeObserver(() => {
        if (!document.documentElement.classList.contains("paper")) {
            drawVisible();
        }
    }).observe(document.getElementById("page"));
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => drawVisible(true));
    matchMedia("print").addEventListener("change", (print) => preparePaper(print.matches));
    addEventListener("beforeprint", () => preparePaper(true));
    addEventListener("afterprint", () => preparePaper(false));
}

/** What all charts have in common: nothing moves, and texts have the page's font and colours. */
function common(option, colours) {
    const axis = (given) => ({
        ...given,
        nameTextStyle: { color: colours.muted, ...given.nameTextStyle },
        axisLine: { show: true, ...given.axisLine, lineStyle: { color: colours.muted } },
        axisLabel: { color: colours.muted, hideOverlap: true, ...given.axisLabel },
        splitLine: { show: given.type !== "category", ...given.splitLine, lineStyle: { color: colours.line } },
    });
    const all = (axes) => [axes].flat().map(axis);
    return {
        animation: false,
        ...option,
        textStyle: { fontFamily: getComputedStyle(document.body).fontFamily, color: colours.text },
        xAxis: all(option.xAxis),
        yAxis: all(option.yAxis),
        legend: option.legend && {
            top: 0,
            left: 0,
            itemWidth: 14,
            itemHeight: 10,
            ...option.legend,
            textStyle: { color: colours.text },
            inactiveColor: colours.muted,
        },
        tooltip: {
            confine: true,
            transitionDuration: 0,
            backgroundColor: colours.panel,
            borderColor: colours.muted,
            textStyle: { color: colours.text, fontSize: 13 },
            ...option.tooltip,
        },
        dataZoom:
            option.dataZoom &&
            option.dataZoom.map((zoom) => ({
                textStyle: { color: colours.muted },
                borderColor: colours.line,
                fillerColor: `${colours.blue}22`,
                handleStyle: { color: colours.panel, borderColor: colours.muted },
                moveHandleStyle: { color: colours.line },
                brushSelect: false,
                ...zoom,
            })),
    };
}

/** How far below the top a chart begins under a legend of these names, which takes as many lines as it needs. */
function belowLegend(names, width) {
    const lines = names.reduce(
        ([line, used], name) => {
            const more = 36 + 7 * name.length;
            return used + more > width ? [line + 1, more] : [line, used + more];
        },
        [1, 0],
    )[0];
    return 14 + 20 * lines;
}

/** What a tooltip shows: a title and lines of a name and a value. */
function tip(title, lines) {
    const known = lines.filter(([, value]) => value !== null && value !== undefined);
    return el(
        "div",
        { class: "tip" },
        el("strong", {}, title),
        el(
            "dl",
            {},
            known.map(([name, value]) => [el("dt", {}, name), el("dd", {}, value)]),
        ),
    );
}

/** A linear axis of bytes from 0 to `most` or a little more, with a round number of bytes between its lines. */
function byteAxis(most) {
    const rough = Math.max(most, 4) / 5;
    const step = 2 ** Math.ceil(Math.log2(rough));
    return {
        type: "value",
        min: 0,
        max: step * Math.ceil((1.02 * Math.max(most, 4)) / step),
        interval: step,
        axisLabel: { formatter: roundBytes },
    };
}

/** A linear axis of seconds from 0 on. */
function secondAxis() {
    return { type: "value", min: 0, axisLabel: { formatter: roundSeconds } };
}

/** The axis of rows with these names; `label` has further settings of the library for the names. */
function nameAxis(names, label) {
    return {
        type: "category",
        inverse: true,
        data: names,
        axisTick: { show: false },
        axisLabel: { interval: 0, hideOverlap: false, ...label },
    };
}

/** The tooltip of bars: `tipOf(i)` is the text for those at index `i`. */
function barTip(tipOf) {
    return { trigger: "axis", axisPointer: { type: "shadow" }, formatter: ([first]) => tipOf(first.dataIndex) };
}

/** A logarithmic axis. */
function logAxis(formatter = roundNumber) {
    return { type: "log", minorSplitLine: { show: false }, axisLabel: { formatter } };
}

/**
 * A logarithmic axis around `values`, of which those above 0 count, from one whole power of `base` to another; lines are at these powers, and bars
 * begin at the lower end.
 */
function powerAxis(values, base, formatter) {
    const powers = values.filter((value) => value > 0).map((value) => Math.log(Number(value)) / Math.log(base));
    const [least, most] = [Math.min(...powers), Math.max(...powers)];
    const [min, max] = powers.length === 0 ? [base ** -3, 1] : [base ** Math.floor(least - 0.001), base ** Math.ceil(most + 0.001)];
    return { type: "log", logBase: base, min, max, startValue: min, axisLabel: { formatter } };
}

/**
 * A figure of points over the axis `x`, on a logarithmic axis called `name`, whose numbers are texts by `label`. `type` is `scatter` or
 * `line`, `more` has further settings of the series; `tipOf(i)` is the tooltip of point `i`.
 */
function pointsFigure(label, points, { x, name, label: text, type, colour, tipOf, ...more }) {
    const option = ({ colours }) => ({
        grid: { left: 64, right: 22, top: 34, bottom: 46 },
        tooltip: { trigger: "item", formatter: ({ dataIndex }) => tipOf(dataIndex) },
        xAxis: { ...x, nameLocation: "middle", nameGap: 26 },
        yAxis: { ...logAxis(text), name, nameTextStyle: { align: "left" } },
        series: [{ type, name, data: points, symbolSize: 6, itemStyle: { color: colours[colour] }, ...more }],
    });
    return figure({ label, height: () => 340, option });
}

/** A line across a chart at the budget, with its name; `axis` is the axis of bytes. */
function budgetLine(axis, budget, colours, position = "insideEndTop") {
    const name = `budget ${bytes(budget)}`;
    return {
        silent: true,
        symbol: "none",
        animation: false,
        lineStyle: { color: colours.bad, type: "dashed", width: 1.5 },
        data: [{ [axis]: budget, name, label: { show: true, formatter: () => name, color: colours.bad, position } }],
    };
}
