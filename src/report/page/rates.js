// The stages: their times, bytes and rates, against the limits of the machine. Input: the stages of a result, and the machine's rates
// where the program knows them. Output: a section.

/** What a stage does, and which of its bytes pass the disk: `in` is read, `out` is written. */
const STAGES = {
    cached: { does: "open the prepared graph" },
    names: { does: "read the input, sort its names" },
    input: { does: "read the input", disk: "in" },
    clean: { does: "remove loops and duplicates, add reverse arcs" },
    orient: { does: "order vertices by degree, write the graph file" },
    assign: { does: "assign vertices to partitions" },
    plan: { does: "size the partitions" },
    induce: { does: "find each partition's subgraph" },
    prune: { does: "drop what closes no triangle" },
    spill: { does: "write partitions to files", disk: "out" },
    stream: { does: "read rows of partitions", disk: "in" },
    count: { does: "count, by the host's clock" },
    copy: { does: "copy rows to the device, by its clock" },
    preprocess: { does: "prepare rows on the device, by its clock" },
    kernel: { does: "run kernels, by the device's clock" },
    edges: { does: "write the triangles on each edge" },
    vertices: { does: "sum up the triangles at each vertex" },
    directions: { does: "read the input again, count by direction" },
    peel: { does: "find the trussness of each edge" },
};

const LIMITS = { in: { key: "read_bytes", verb: "reads" }, out: { key: "write_bytes", verb: "writes" } };

const rateOf = (stage, way) => (stage.seconds > 0 ? Number(stage[`bytes_${way}`]) / stage.seconds : 0);

/** The share of the disk's rate that a stage reached; null where it does not use the disk, or nothing is known of it. */
function ofLimit(stage, rates) {
    const way = STAGES[stage.name]?.disk;
    const limit = way && rates?.[LIMITS[way].key];
    return limit > 0 && rateOf(stage, way) > 0 ? rateOf(stage, way) / limit : null;
}

function stageColumns(result, rates) {
    return [
        { heading: "stage", text: true, cell: (stage) => stage.name },
        { heading: "time", cell: (stage) => seconds(stage.seconds) },
        { heading: "of the job", cell: (stage) => (result.seconds > 0 ? percent(stage.seconds / result.seconds) : "–") },
        { heading: "bytes in", cell: (stage) => (stage.bytes_in > 0 ? bytes(stage.bytes_in) : "–") },
        { heading: "bytes out", cell: (stage) => (stage.bytes_out > 0 ? bytes(stage.bytes_out) : "–") },
        { heading: "rate in", cell: (stage) => byteRate(stage.bytes_in, stage.seconds) },
        { heading: "rate out", cell: (stage) => byteRate(stage.bytes_out, stage.seconds) },
        ...(rates ? [{ heading: "of the disk's rate", cell: (stage) => orDash(ofLimit(stage, rates), percent) }] : []),
        { heading: "what it does", text: true, cell: (stage) => STAGES[stage.name]?.does ?? "" },
    ];
}

function ratesOption(stages, rates, { colours, width }) {
    const series = { in: ["bytes in", colours.blue], out: ["bytes out", colours.orange] };
    const limit = (way) => rates?.[LIMITS[way].key];
    const values = [...stages.flatMap((stage) => ["in", "out"].map((way) => rateOf(stage, way))), limit("in"), limit("out")];
    const line = (way) =>
        limit(way) > 0 && {
            silent: true,
            symbol: "none",
            label: { show: false },
            data: [{ xAxis: limit(way) }],
            lineStyle: { color: series[way][1], type: "dashed", width: 1.5 },
        };
    return {
        grid: { left: width < 600 ? 66 : 90, right: 40, top: 34, bottom: 30 },
        legend: { data: ["bytes in", "bytes out"] },
        tooltip: barTip((i) => stageTip(stages[i], rates)),
        // Lines at 1 KiB/s, 32 KiB/s, 1 MiB/s, ...
        xAxis: powerAxis(values, 32, (value) => `${roundBytes(value)}/s`),
        yAxis: nameAxis(stages.map(({ name }) => name)),
        series: ["in", "out"].map((way) => ({
            type: "bar",
            name: series[way][0],
            itemStyle: { color: series[way][1] },
            barMaxWidth: 10,
            barCategoryGap: "30%",
            data: stages.map((stage) => rateOf(stage, way) || null),
            markLine: line(way) || undefined,
        })),
    };
}

function stageTip(stage, rates) {
    return tip(stage.name, [
        ["time", seconds(stage.seconds)],
        ["in", stage.bytes_in > 0 ? `${bytes(stage.bytes_in)}, ${byteRate(stage.bytes_in, stage.seconds)}` : null],
        ["out", stage.bytes_out > 0 ? `${bytes(stage.bytes_out)}, ${byteRate(stage.bytes_out, stage.seconds)}` : null],
        ["of the disk's rate", ofLimit(stage, rates) === null ? null : percent(ofLimit(stage, rates))],
    ]);
}

function timesOption(stages, { colours, width }) {
    return {
        grid: { left: width < 600 ? 76 : 90, right: 40, top: 10, bottom: 30 },
        tooltip: barTip((i) => stageTip(stages[i], null)),
        xAxis: secondAxis(),
        yAxis: nameAxis(stages.map(({ name }) => name)),
        series: [
            { type: "bar", name: "time", data: stages.map((stage) => stage.seconds), itemStyle: { color: colours.blue }, barMaxWidth: 14 },
        ],
    };
}

function limitSentence(rates) {
    if (!rates) {
        return "The limits of this machine are not known.";
    }
    const known = Object.values(LIMITS)
        .filter(({ key }) => rates[key] > 0)
        .map(({ key, verb }) => `${verb} ${bytes(rates[key])}/s`);
    const source = rates.measured
        ? "as measured on this machine"
        : "as assumed by default; 'trimill doctor --measure' measures this machine";
    return `Dashed lines: the disk ${known.join(" and ")}, ${source}. A file that is in memory already is read faster.`;
}

/** The section: the table, and beside each other times and rates. */
function stages(result, rates) {
    const known = result.stages;
    if (known.length === 0) {
        return null;
    }
    const moved = known.filter((stage) => rateOf(stage, "in") > 0 || rateOf(stage, "out") > 0);
    return section(
        "Stages: time, bytes and rates",
        el("p", { class: "note" }, "Stages overlap, so their times can add up to more than the job's."),
        table("Stages", stageColumns(result, rates), known),
        el(
            "div",
            { class: "pair" },
            figure({
                label: `Time of each stage. ${longestStage(result) ?? ""}`,
                height: () => 44 + 28 * known.length,
                option: (context) => timesOption(known, context),
            }),
            moved.length === 0
                ? null
                : figure({
                      label: `Rate of each stage, on a logarithmic axis. ${limitSentence(rates)}`,
                      height: () => 68 + 32 * moved.length,
                      option: (context) => ratesOption(moved, rates, context),
                  }),
        ),
    );
}
