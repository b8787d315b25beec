// The answer of a count and what it means, in sentences and figures. Input: the result of a count. Output: elements.

const BACKENDS = { cpu: "the CPU", cuda: "a GPU" };

/** Where it was counted: `the CPU`, `NVIDIA H200`, `4 GPUs (NVIDIA H200)`. */
function counter(result) {
    const gpus = new Map(result.devices.map(({ device, name }) => [device, name]));
    const names = [...new Set(gpus.values())].join(", ");
    return gpus.size === 0 ? (BACKENDS[result.backend] ?? result.backend) : gpus.size === 1 ? names : `${gpus.size} GPUs (${names})`;
}

/** The partition that took most; null without partitions. */
function largest(partitions, bytesOf) {
    return partitions.reduce((most, partition) => (most && bytesOf(most) >= bytesOf(partition) ? most : partition), null);
}

/** The budget that a partition took: `1.9 GiB of 2.0 GiB (97%)`. */
function ofBudget(peak, budget) {
    return budget > 0 ? `${bytes(peak)} of ${bytes(budget)} (${percent(Number(peak) / Number(budget))})` : bytes(peak);
}

function meaning(result) {
    const closed =
        result.wedges > 0
            ? `${percent(result.transitivity)} of its ${thousands(result.wedges)} paths of two edges are closed by a third edge ` +
              `(transitivity ${result.transitivity.toPrecision(3)}).`
            : "It has no path of two edges.";
    return (
        `An exact count: each set of three vertices that are joined in pairs is counted once. The graph has ` +
        `${counted(result.vertices, "vertex", "vertices")} with an edge and ${counted(result.edges, "edge")}; ${closed}`
    );
}

function work(result) {
    const resumed = result.partitions.filter(({ resumed }) => resumed).length;
    const earlier = resumed > 0 ? `, of which ${thousands(resumed)} on an earlier start` : "";
    const parts = `in ${counted(result.parts, "partition")} by ${result.partitioner}${earlier}`;
    return `The job took ${seconds(result.seconds)}. Method ${result.method} counted on ${counter(result)}, ${parts}.`;
}

/** The head of a count. */
function summary(result) {
    const most = largest(result.partitions, (partition) => partition.peak_bytes);
    const sum = (name) => result.partitions.reduce((total, partition) => total + Number(partition[name]), 0);
    const streamed = { "in-place": "rows of the graph file", spilled: "rows of each partition's own file" };
    return [
        el("p", { class: "answer" }, counted(result.triangles, "triangle")),
        sentences(meaning(result)),
        sentences(work(result), waitSentence(result), longestStage(result)),
        facts([
            ["Whole job", seconds(result.seconds)],
            ["Largest partition, of the device's budget", most && ofBudget(most.peak_bytes, result.device_memory)],
            ["Host memory, of its budget", ofBudget(result.peak_host_bytes, result.host_memory)],
            ["Drivers of GPUs, on the host", result.driver_host_bytes > 0 ? bytes(result.driver_host_bytes) : null],
            ["Streamed to the device", bytes(sum("stream_bytes"))],
            ["What is streamed", streamed[result.mode] ?? result.mode],
            ["Spilled to files", sum("spill_bytes") > 0 ? bytes(sum("spill_bytes")) : null],
            ["Duplication: arcs kept / edges", fixed(result.duplication, 3)],
            ["Compression of spills", result.compression_ratio === null ? null : times(result.compression_ratio)],
        ]),
    ];
}

const DEVICES = [
    { heading: "GPU", cell: (d) => String(d.device) },
    { heading: "name", text: true, cell: (d) => d.name },
    { heading: "partitions", cell: (d) => thousands(d.partitions) },
    { heading: "triangles", cell: (d) => thousands(d.triangles) },
    { heading: "streamed", cell: (d) => bytes(d.stream_bytes) },
    { heading: "counting", cell: (d) => seconds(d.seconds) },
    { heading: "budget", cell: (d) => bytes(d.budget_bytes) },
    { heading: "most in use", cell: (d) => bytes(d.peak_bytes) },
    { heading: "before the budget", cell: (d) => bytes(d.context_bytes) },
    { heading: "in use at the end", cell: (d) => bytes(d.used_bytes) },
];

/** The GPUs; null on the CPU. */
function devices(result) {
    return result.devices.length === 0 ? null : section("GPUs", table("GPUs", DEVICES, result.devices));
}

/** The input, and what cleaning changed. */
function input(result) {
    const lines = [
        ["vertices that the input declares", result.input.vertices_declared],
        ["arcs in the input", result.input.arcs],
        ["loops removed", result.input.loops_removed],
        ["duplicates removed", result.input.duplicates_removed],
        ["reverse arcs added", result.input.arcs_added],
        ["arcs without a reverse in the input", result.input.arcs_without_reverse],
        ["vertices with an edge", result.vertices],
        ["edges", result.edges],
    ];
    const columns = [
        { heading: "", text: true, cell: ([name]) => name },
        { heading: "number", cell: ([, value]) => orDash(value, thousands) },
    ];
    return section("Input", table("Input, and what cleaning changed", columns, lines));
}

/** The method estimates of `auto`; null where a method was named. */
function estimates(result) {
    if (result.methods.length === 0) {
        return null;
    }
    const texts = result.methods.map(({ method, seconds: time }) => `${method} ${orDash(time, seconds)}`);
    return el("p", { class: "note" }, `Estimates from which the method was chosen: ${texts.join(", ")}.`);
}
