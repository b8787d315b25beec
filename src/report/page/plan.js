// A plan: whether every partition fits its budget, what its memory consists of, and what other numbers of parts would take. Input: the result of
// `trimill plan`. Output: elements.

const REASONS = {
    whole: "the whole graph fits at once",
    fewest: "as few as fit",
    asked: "as was asked for",
    split: "what was asked for does not fit",
    devices: "one for each device",
};

/** About how long the job takes. */
function planTime(plan) {
    const peeling = plan.peeling_seconds === null ? "" : `, peeling ${seconds(plan.peeling_seconds)}`;
    return (
        `The job takes about ${seconds(plan.seconds)}: preparing the graph ${seconds(plan.preparing.seconds)}, unless it is in the cache, ` +
        `counting ${seconds(plan.counting_seconds)}${peeling}.`
    );
}

/** What more memory would save. */
function moreMemory(plan) {
    if (plan.more_memory.length === 0) {
        return section("More memory", el("p", {}, "More memory would not save time."));
    }
    const columns = [
        { heading: "budget", text: true, cell: (m) => (m.budget === "host" ? "--host-memory" : "--device-memory") },
        { heading: "at least", cell: (m) => bytes(m.bytes) },
        { heading: "partitions", cell: (m) => thousands(m.parts) },
        { heading: "preparing", cell: (m) => seconds(m.preparing.seconds) },
        { heading: "counting", cell: (m) => seconds(m.counting_seconds) },
        { heading: "the job, about", cell: (m) => seconds(m.seconds) },
        { heading: "saves", cell: (m) => percent(1 - m.seconds / plan.seconds) },
    ];
    return section("More memory", table("More memory", columns, plan.more_memory));
}

/** What is neither resident rows nor the largest row block: the second row block, counters, what the method needs. */
const restOf = (p) => Math.max(p.peak_bytes_predicted - p.resident_bytes - p.largest_block_bytes, 0);

/** Why the job does not fit: partitions above the budget, and disks with too little room; a sentence for each. */
function obstacles(plan) {
    const over = plan.partitions.filter(({ fits }) => !fits).length;
    const disks = plan.disks.filter((disk) => disk.least_bytes > disk.free_bytes);
    const needed = ({ needs }) => needs.filter((need) => need.least_bytes > 0).map(({ what, directory }) => `${what} in ${directory}`);
    return [
        over > 0 &&
            `${counted(over, "partition")} of ${thousands(plan.parts)} ${over === 1 ? "does" : "do"} not fit the budget of ` +
                `${bytes(plan.device_memory)}.`,
        ...disks.map(
            (disk) => `Too little disk for ${needed(disk).join(", ")}: at least ${bytes(disk.least_bytes)}, of ${bytes(disk.free_bytes)} free.`,
        ),
    ];
}

function planSummary(plan) {
    const most = largest(plan.partitions, (p) => p.peak_bytes_predicted);
    const estimated =
        plan.estimates &&
        `Building, reading and copying take about ${seconds(plan.estimates.in_place)} in the in-place mode, ` +
            `${plan.estimates.sized ? "" : "at least "}${seconds(plan.estimates.spilled)} in the spilled mode.`;
    return [
        el("p", { class: plan.fits ? "answer" : "answer bad" }, plan.fits ? "The job fits" : "The job does not fit"),
        sentences(
            ...(plan.fits ? [`Each of ${counted(plan.parts, "partition")} fits the budget of ${bytes(plan.device_memory)}.`] : obstacles(plan)),
            most &&
                `The largest takes ${ofBudget(most.peak_bytes_predicted, plan.device_memory)}. The smallest budget that works for this ` +
                    `graph is ${bytes(plan.smallest_device_memory)}.`,
        ),
        sentences(
            `The graph has ${counted(plan.vertices, "vertex", "vertices")} and ${counted(plan.edges, "edge")}. Method ${plan.method} would count it on ` +
                `${BACKENDS[plan.backend] ?? plan.backend}, in ${counted(plan.parts, "partition")} by ${plan.partitioner} (${REASONS[plan.parts_reason]}), in the ${plan.mode} mode.`,
            estimated,
        ),
        sentences(planTime(plan)),
        plan.advice.length === 0
            ? null
            : el(
                  "div",
                  { class: "advice" },
                  el("strong", {}, "Advice"),
                  el(
                      "ul",
                      {},
                      plan.advice.map((text) => el("li", {}, text)),
                  ),
              ),
        facts([
            ["Largest partition, of the device's budget", most && ofBudget(most.peak_bytes_predicted, plan.device_memory)],
            ["Smallest budget that works", bytes(plan.smallest_device_memory)],
            ["Row blocks, at most", bytes(plan.block_bytes)],
            ["Streamed to the device", bytes(plan.stream_bytes)],
            ["On disk at once, at most", bytes(plan.disk_bytes)],
            ["Budget of the host", bytes(plan.host_memory)],
            ["Smallest budget of the host, if the graph is not in the cache", bytes(plan.smallest_host_memory)],
            ["Duplication: arcs kept / edges", fixed(plan.duplication, 3)],
        ]),
    ];
}

function plannedMemory(plan) {
    const most = largest(plan.partitions, (p) => p.peak_bytes_predicted);
    if (!most) {
        return null;
    }
    const budget = plan.device_memory;
    const beyond = onAxis(most.peak_bytes_predicted, budget) ? "" : ` The budget of ${bytes(budget)} is beyond the axis.`;
    const top = (p) => p.peak_bytes_predicted;
    return section(
        "Memory of each partition",
        memoryFigure({
            label:
                `Predicted peak of the device's memory in each partition${isBound(plan) ? ", at most" : ""}, and what it consists of. The largest is partition ${most.id} with ` +
                `${ofBudget(most.peak_bytes_predicted, budget)}.${beyond}`,
            partitions: plan.partitions,
            budget,
            bars: [
                { name: "resident rows", colour: "blue", stack: "peak", value: (p) => p.resident_bytes, top },
                { name: "largest row block", colour: "orange", stack: "peak", value: (p) => p.largest_block_bytes, top },
                { name: "the rest", colour: "wait", stack: "peak", value: restOf, top },
            ],
            lines: [],
            sizeOf: top,
            columns: partitionColumns("planned", plan.mode),
            tipOf: (p) =>
                tip(`Partition ${p.id}${p.fits ? "" : ": does not fit"}`, [
                    ["predicted peak", ofBudget(p.peak_bytes_predicted, budget)],
                    ["resident rows", bytes(p.resident_bytes)],
                    ["largest row block", bytes(p.largest_block_bytes)],
                    ["the rest", bytes(restOf(p))],
                    ["row blocks", thousands(p.row_blocks)],
                    ["streamed", bytes(p.stream_bytes)],
                    ["local vertices", thousands(p.local_vertices)],
                ]),
        }),
    );
}

const ALTERNATIVE = [
    { heading: "parts", cell: (a) => thousands(a.parts) },
    { heading: "largest: arcs kept", cell: (a) => thousands(a.largest_arcs_kept) },
    { heading: "largest: vertices", cell: (a) => thousands(a.largest_vertices_kept) },
    { heading: "duplication", cell: (a) => fixed(a.duplication, 3) },
    { heading: "largest peak, at most", cell: (a) => bytes(a.largest_peak_bytes) },
    { heading: "streamed", cell: (a) => bytes(a.stream_bytes) },
    { heading: "fits", text: true, cell: (a) => (a.fits ? "yes" : "no") },
];

function alternativesOption(plan, { colours }) {
    const line = (name, value, colour, symbol) => ({
        type: "line",
        name,
        symbol,
        symbolSize: 8,
        data: plan.alternatives.map((a) => value(a) || null),
        lineStyle: { color: colours[colour], width: 1.5 },
        itemStyle: { color: colours[colour] },
    });
    const peaks = line("largest peak", (a) => a.largest_peak_bytes, "blue", "circle");
    const values = plan.alternatives.flatMap((a) => [a.largest_peak_bytes, a.stream_bytes]).concat(plan.device_memory);
    return {
        grid: { left: 74, right: 22, top: 34, bottom: 46 },
        legend: { data: ["largest peak", "streamed"] },
        tooltip: {
            trigger: "axis",
            formatter: ([first]) => {
                const a = plan.alternatives[first.dataIndex];
                return tip(
                    counted(a.parts, "part"),
                    ALTERNATIVE.slice(1).map(({ heading, cell }) => [heading, cell(a)]),
                );
            },
        },
        xAxis: {
            type: "category",
            data: plan.alternatives.map(({ parts }) => thousands(parts)),
            name: "parts",
            nameLocation: "middle",
            nameGap: 26,
        },
        yAxis: powerAxis(values, 32, roundBytes),
        series: [
            { ...peaks, markLine: budgetLine("yAxis", plan.device_memory, colours) },
            line("streamed", (a) => a.stream_bytes, "orange", "rect"),
        ],
    };
}

function alternatives(plan) {
    if (plan.alternatives.length === 0) {
        return null;
    }
    return section(
        "Other numbers of parts",
        figure({
            label: "More parts need less memory and stream more. The axis of bytes is logarithmic.",
            height: () => 320,
            option: (context) => alternativesOption(plan, context),
            table: table("Other numbers of parts", ALTERNATIVE, plan.alternatives),
        }),
    );
}

function floorsOption(floors, budget, { colours, width }) {
    const most = Math.max(...floors.map((floor) => floor.bytes));
    const shown = onAxis(most, budget);
    const line = shown ? budgetLine("xAxis", budget, colours, "start") : undefined;
    return {
        grid: { left: width < 600 ? 110 : 200, right: 34, top: shown ? 24 : 10, bottom: 30 },
        tooltip: barTip((i) => {
            const { stage, bytes: least, parts } = floors[i];
            return tip(stage, [["at least", bytes(least)], ...parts.map((part) => [part.what, bytes(part.bytes)])]);
        }),
        xAxis: byteAxis(shown ? Math.max(most, budget) : most),
        yAxis: nameAxis(
            floors.map(({ stage }) => stage),
            { width: width < 600 ? 102 : 190, overflow: "break", lineHeight: 15 },
        ),
        series: [
            {
                type: "bar",
                name: "at least",
                barMaxWidth: 18,
                itemStyle: { color: colours.blue },
                data: floors.map((floor) => floor.bytes),
                markLine: line,
            },
        ],
    };
}

function hostFloors(plan) {
    if (plan.host_floors.length === 0) {
        return null;
    }
    const parts = plan.host_floors.flatMap((floor) => [
        { stage: floor.stage, what: "in all, at least", bytes: floor.bytes },
        ...floor.parts.map((part) => ({ stage: "", ...part })),
    ]);
    const columns = [
        { heading: "to", text: true, cell: ({ stage }) => stage },
        { heading: "for", text: true, cell: ({ what }) => what },
        { heading: "bytes", cell: (part) => bytes(part.bytes) },
    ];
    const most = largest(plan.host_floors, (floor) => floor.bytes);
    return section(
        "Least memory of the host",
        figure({
            label: `The smallest budgets of the host: the largest is ${bytes(most.bytes)}, to ${most.stage}. This job has a budget of ${bytes(plan.host_memory)}.`,
            height: () => 70 + 34 * plan.host_floors.length,
            option: (context) => floorsOption(plan.host_floors, plan.host_memory, context),
            table: numbers("Parts of these budgets", columns, parts),
        }),
    );
}
