// A comparison of methods: a chart and a table for each graph, all charts on one logarithmic axis of seconds. Input: the result of
// `trimill bench`. Output: elements.

/** The name of each graph: that of its file, or the whole path where two are the same. */
function graphNames(graphs) {
    const names = graphs.map(({ graph }) => graph.replace(/.*[/\\]/, "") || graph);
    return names.map((name, i) => (names.filter((other) => other === name).length > 1 ? graphs[i].graph : name));
}

/** `auto (packed) on cuda`: the name as given, the method that counted if that is another, and where. */
function titleOf(method) {
    const other = method.counted_by && method.counted_by !== method.method ? ` (${method.counted_by})` : "";
    return `${method.method}${other} on ${method.backend}`;
}

/** What is wrong with a method's counts; null where nothing is. */
function wrongCount(method, graph) {
    if (method.correct !== false) {
        return null;
    }
    const expected = graph.triangles === null ? "" : `; expected ${thousands(graph.triangles)} (${graph.reference})`;
    return `WRONG: counted ${method.triangles.map(thousands).join(" and ")} triangles${expected}`;
}

/** A word for how a method did. */
function verdict(method) {
    if (method.correct === false) {
        return "WRONG COUNT";
    }
    if (method.correct === true) {
        return !method.problem ? "right" : method.warmed_up ? "right, runs left out" : "right, one cold run";
    }
    return { timeout: "too slow", crash: "crashed" }[method.problem?.kind] ?? (method.problem ? "refused" : "–");
}

/** The fastest first; those without a time last. */
function ranked(methods) {
    return [...methods].sort((a, b) => (a.kernel_seconds?.median ?? Infinity) - (b.kernel_seconds?.median ?? Infinity) || 0);
}

/** The axis that all graphs of a comparison share. */
function secondsAxis(report) {
    const spreads = report.graphs
        .flatMap(({ methods }) => methods.flatMap((m) => [m.kernel_seconds, m.seconds]))
        .filter((spread) => spread);
    const values = spreads.flatMap(({ min, max }) => [min, max]);
    return powerAxis(values, 10, roundSeconds);
}

/** A stroke from the fastest to the slowest run. */
function drawRange(colours) {
    return (_, api) => {
        const [from, y] = api.coord([api.value(0), api.value(2)]);
        const [to] = api.coord([api.value(1), api.value(2)]);
        const line = (x1, y1, x2, y2) => ({ type: "line", shape: { x1, y1, x2, y2 }, style: { stroke: colours.text, lineWidth: 1.5 } });
        return { type: "group", children: [line(from, y, to, y), line(from, y - 4, from, y + 4), line(to, y - 4, to, y + 4)] };
    };
}

/** The word in place of a bar, or beside a wrong one. */
function drawWord(methods, colours) {
    return (_, api) => {
        const method = methods[api.value(1)];
        const [x, y] = api.coord([api.value(0), api.value(1)]);
        const wrong = method.correct === false;
        return {
            type: "text",
            style: {
                text: verdict(method),
                x: x + 8,
                y,
                verticalAlign: "middle",
                fill: wrong ? colours.bad : colours.muted,
                fontWeight: wrong ? "bold" : "normal",
                fontSize: 12,
            },
        };
    };
}

const BENCH_LEGEND = ["kernels, median", "fastest to slowest run", "whole job, median"];

function benchOption(methods, axis, right, { colours, width }) {
    const narrow = width < 600;
    const timed = methods.filter(({ kernel_seconds: spread }) => spread);
    const place = (method) => methods.indexOf(method);
    const colour = (method) => colours[method.correct === false ? "bad" : method.backend === "cpu" ? "green" : "blue"];
    const worded = methods.filter((method) => !method.kernel_seconds || method.correct === false);
    return {
        grid: { left: narrow ? 128 : 210, right, top: belowLegend(BENCH_LEGEND, width), bottom: 30 },
        legend: { data: BENCH_LEGEND },
        tooltip: {
            trigger: "axis",
            axisPointer: { type: "shadow" },
            formatter: (all) => benchTip(methods[all[0].data.place ?? all[0].value[1]]),
        },
        xAxis: axis,
        yAxis: nameAxis(methods.map(titleOf), { width: narrow ? 120 : 200, overflow: "truncate" }),
        series: [
            {
                type: "bar",
                name: "kernels, median",
                barMaxWidth: 16,
                itemStyle: { color: colours[timed.some(({ backend }) => backend === "cuda") ? "blue" : "green"] },
                data: methods.map((method, i) => ({
                    value: method.kernel_seconds?.median ?? null,
                    place: i,
                    itemStyle: { color: colour(method) },
                })),
            },
            {
                type: "custom",
                name: "fastest to slowest run",
                itemStyle: { color: colours.text },
                encode: { x: [0, 1], y: 2 },
                z: 5,
                data: timed.map((method) => [method.kernel_seconds.min, method.kernel_seconds.max, place(method)]),
                renderItem: drawRange(colours),
                tooltip: { show: false },
            },
            {
                type: "scatter",
                name: "whole job, median",
                symbol: "diamond",
                symbolSize: 10,
                itemStyle: { color: colours.orange },
                data: timed.filter((method) => method.seconds).map((method) => [method.seconds.median, place(method)]),
                z: 6,
            },
            {
                type: "custom",
                name: "how it did",
                encode: { x: 0, y: 1 },
                z: 7,
                renderItem: drawWord(methods, colours),
                data: worded.map((method) => [
                    method.kernel_seconds ? Math.max(method.seconds?.median ?? 0, method.kernel_seconds.max) : axis.min,
                    place(method),
                ]),
            },
        ],
    };
}

const spread = (of) => orDash(of, ({ median }) => seconds(median));
const range = (of) => orDash(of, ({ min, max }) => `${seconds(min)} to ${seconds(max)}`);

const BENCH = [
    { heading: "method", text: true, cell: titleOf },
    { heading: "count", text: true, cell: (m) => (m.correct === false ? el("strong", { class: "bad" }, verdict(m)) : verdict(m)) },
    { heading: "kernels", cell: (m) => spread(m.kernel_seconds) },
    { heading: "fastest to slowest", cell: (m) => range(m.kernel_seconds) },
    { heading: "speed-up", cell: (m) => orDash(m.kernel_speedup, times) },
    { heading: "copies", cell: (m) => spread(m.copy_seconds) },
    { heading: "preprocessing", cell: (m) => spread(m.preprocess_seconds) },
    { heading: "whole job", cell: (m) => spread(m.seconds) },
    { heading: "speed-up of the job", cell: (m) => orDash(m.speedup, times) },
    { heading: "edges/s", cell: (m) => orDash(m.edges_per_second, rounded) },
    { heading: "device memory", cell: (m) => orDash(m.device_bytes, bytes) },
    { heading: "host memory", cell: (m) => orDash(m.host_bytes, bytes) },
    { heading: "parts", cell: (m) => orDash(m.parts, thousands) },
    { heading: "runs", cell: (m) => thousands(m.runs.length) },
];

function benchTip(method) {
    return tip(titleOf(method), [
        ["kernels", method.kernel_seconds && `${spread(method.kernel_seconds)} (${range(method.kernel_seconds)})`],
        ["whole job", method.seconds && `${spread(method.seconds)} (${range(method.seconds)})`],
        ["speed-up of kernels", method.kernel_speedup && times(method.kernel_speedup)],
        ["device memory", method.device_bytes && bytes(method.device_bytes)],
        ["runs", thousands(method.runs.length)],
        ["count", verdict(method)],
    ]);
}

/** Wrong counts and reasons, a line for each. */
function notes(graph, methods) {
    const texts = methods.flatMap((method) =>
        [wrongCount(method, graph), method.problem?.message]
            .filter((text) => text)
            .map((text) => el("li", {}, el("strong", {}, `${titleOf(method)}: `), text)),
    );
    return texts.length === 0 ? null : el("ul", { class: "notes" }, texts);
}

function graphSection(graph, heading, axis, right) {
    if (graph.problem) {
        return section(heading, el("p", { class: "message" }, graph.problem.message));
    }
    const methods = ranked(graph.methods);
    const best = methods.find(({ kernel_seconds: time, correct }) => time && correct === true);
    const says = best
        ? `The fastest is ${titleOf(best)}: ${spread(best.kernel_seconds)}${best.kernel_speedup ? `, ${times(best.kernel_speedup)} the baseline's speed` : ""}.`
        : "No method counted it right.";
    return section(
        heading,
        sentences(
            `${counted(graph.vertices, "vertex", "vertices")}, ${counted(graph.edges, "edge")}, ${orDash(graph.triangles, thousands)} triangles` +
                `${graph.reference ? ` (${graph.reference})` : ""}.`,
            says,
        ),
        figure({
            label: "Time of each method, on a logarithmic axis that all graphs share; shorter is faster. Blue bars are GPUs, green ones the CPU.",
            height: (width) => 44 + belowLegend(BENCH_LEGEND, width) + 30 * methods.length,
            option: (context) => benchOption(methods, axis, right, context),
            table: table(`Methods on ${heading}`, BENCH, methods),
        }),
        notes(graph, methods),
    );
}

/** Pairs of a name and a text for the settings of a table that were given, and of the tables in it, such as `memory host`. */
function givenSettings(table, path = []) {
    const given = Object.entries(table).filter(([, value]) => value !== null);
    return given.flatMap(([key, value]) => {
        const name = [...path, key.replace(/_/g, " ")];
        if (typeof value === "object" && !Array.isArray(value)) {
            return givenSettings(value, name);
        }
        return [[name.join(" "), path[0] === "memory" ? bytes(value) : [value].flat().join(", ")]];
    });
}

function bench(report) {
    const axis = secondsAxis(report);
    // A wrong count's bar may end at the end of the axis; the word beside it is then to the right of the axis.
    const right = report.graphs.some(({ methods }) => methods.some((m) => m.kernel_seconds && m.correct === false)) ? 124 : 30;
    const names = graphNames(report.graphs);
    const { processor, cores, memory, gpus } = report.machine;
    const wrong = report.graphs.flatMap((graph) => graph.methods.map((method) => wrongCount(method, graph)).filter((text) => text));
    const counts = report.graphs.flatMap(({ methods }) => methods).filter(({ correct }) => correct !== null).length;
    const baseline = `${report.baseline.method} on ${report.baseline.backend}`;
    const compared = report.graphs.filter(({ methods }) => methods.some(({ correct }) => correct !== null)).length;
    const others = report.graphs.length - compared;
    const left = others > 0 ? `, ${thousands(others)} could not be compared` : "";
    const agree = counts > 0 ? `${counted(compared, "graph")}: all counts agree${left}` : "Nothing was counted";
    return [
        el(
            "p",
            { class: wrong.length > 0 || others > 0 ? "answer bad" : "answer" },
            wrong.length > 0 ? counted(wrong.length, "wrong count") : agree,
        ),
        sentences(
            `${counted(counts, "pair")} of a method and a graph were counted, ${report.settings.runs} runs each if time allowed, on ` +
                `${gpus.length > 0 ? `${gpus.join(", ")}; ` : ""}${processor}, ${cores} threads, ${bytes(memory)} of RAM. Times are medians. Speed-ups ` +
                `are relative to ${baseline}: above 1 is faster.`,
        ),
        report.graphs.map((graph, i) => graphSection(graph, names[i], axis, right)),
        section("Settings", facts(givenSettings(report.settings))),
    ];
}
