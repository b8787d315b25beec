// A result beside an earlier one: whether they count the same, and their seconds and memory with ratios. Input: two results of counts.
// Output: a section.

/** What of the input and its graph differs, as `name: this, earlier`. */
function inputDifferences(now, earlier) {
    const graph = ({ vertices, edges, wedges, input }) => ({ ...input, vertices, edges, wedges });
    const [of, before] = [graph(now), graph(earlier)];
    const names = Object.keys(of).filter((name) => orDash(of[name]) !== orDash(before[name]));
    return names.map((name) => `${name.replace(/_/g, " ")} ${orDash(of[name], thousands)} and ${orDash(before[name], thousands)}`);
}

/** The counts that both results have, as rows: a name, this, the earlier. */
function countsOf(now, earlier) {
    const rows = [["triangles", now.triangles, earlier.triangles]];
    if (now.clustering && earlier.clustering) {
        const of = [now.clustering, earlier.clustering];
        rows.push(["most triangles at a vertex", ...of.map((c) => c.most_triangles)]);
        rows.push(["vertices in triangles", ...of.map((c) => c.vertices_in_triangles)]);
    }
    if (now.truss && earlier.truss && now.truss.until === earlier.truss.until) {
        const last = ({ truss }) => truss.by_k[truss.by_k.length - 1];
        rows.push(["largest k of a truss", now.truss.largest_k, earlier.truss.largest_k]);
        rows.push(["edges of that truss", last(now)?.edges ?? 0, last(earlier)?.edges ?? 0]);
    }
    return rows;
}

/** The verdict in a sentence, and whether it is bad. */
function verdictOn(now, earlier) {
    const inputs = inputDifferences(now, earlier);
    if (inputs.length > 0) {
        return [`The inputs differ, so do not compare: ${inputs.join("; ")}.`, true];
    }
    const wrong = countsOf(now, earlier).filter(([, a, b]) => String(a) !== String(b));
    if (wrong.length > 0) {
        const texts = wrong.map(([name, a, b]) => `${name} ${thousands(a)} and ${thousands(b)}`);
        return [`THE COUNTS DIFFER for the same input, so one of them is wrong: ${texts.join("; ")}.`, true];
    }
    return [`Both have the same input and counted the same: ${counted(now.triangles, "triangle")}.`, false];
}

/** How many times as much as before; a dash where that means nothing. */
const ratioOf = (a, b) => (a === null || b === null || a === undefined || b === undefined || !(b > 0) ? "–" : times(Number(a) / Number(b)));

function comparedColumns(first, text) {
    return [
        { heading: first, text: true, cell: ([name]) => name },
        { heading: "this", cell: (row) => orDash(row[1], text) },
        { heading: "earlier", cell: (row) => orDash(row[2], text) },
        { heading: "this / earlier", cell: (row) => ratioOf(row[1], row[2]) },
    ];
}

/** Seconds of each stage in both, in the order of this job and then those that only the earlier one had. */
function bothStages(now, earlier) {
    const find = (stages, name) => stages.find((stage) => stage.name === name)?.seconds ?? null;
    const names = [...new Set([...now.stages, ...earlier.stages].map(({ name }) => name))];
    return names.map((name) => [name, find(now.stages, name), find(earlier.stages, name)]);
}

function bothOption(rows, { colours, width }) {
    const series = [
        ["this", "blue", 1],
        ["earlier", "orange", 2],
    ];
    return {
        grid: { left: width < 600 ? 76 : 90, right: 40, top: 34, bottom: 30 },
        legend: { data: series.map(([name]) => name) },
        tooltip: barTip((i) => {
            const [name, own, before] = rows[i];
            return tip(name, [
                ["this", orDash(own, seconds)],
                ["earlier", orDash(before, seconds)],
                ["this / earlier", ratioOf(own, before)],
            ]);
        }),
        xAxis: secondAxis(),
        yAxis: nameAxis(rows.map(([name]) => name)),
        series: series.map(([name, colour, at]) => ({
            type: "bar",
            name,
            data: rows.map((row) => row[at]),
            itemStyle: { color: colours[colour] },
            barMaxWidth: 10,
            barCategoryGap: "30%",
        })),
    };
}

/** How each was counted, where that differs. */
function settingsThatDiffer(now, earlier) {
    const names = ["version", "backend", "method", "partitioner", "seed", "prune", "mode", "parts", "device_memory", "host_memory"];
    const text = (result, name) => (name.endsWith("_memory") ? bytes(result[name]) : orDash(result[name]));
    const rows = names.map((name) => [name.replace(/_/g, " "), text(now, name), text(earlier, name)]);
    const devices = ["GPUs", ...[now, earlier].map((result) => (result.devices.length > 0 ? counter(result) : "none"))];
    const columns = [
        { heading: "setting", text: true, cell: ([name]) => name },
        { heading: "this", text: true, cell: ([, value]) => value },
        { heading: "earlier", text: true, cell: ([, , value]) => value },
    ];
    const differ = [...rows, devices].filter(([, a, b]) => a !== b);
    return differ.length === 0 ? el("p", { class: "note" }, "Both were counted in the same way.") : table("What differs", columns, differ);
}

function comparison(now, earlier, name) {
    const [verdict, bad] = verdictOn(now, earlier);
    const peak = ({ partitions }) => greatest(partitions.map((partition) => Number(partition.peak_bytes)));
    const streamed = ({ partitions }) => partitions.reduce((sum, partition) => sum + Number(partition.stream_bytes), 0);
    const both = (of) => [of(now), of(earlier)];
    const memory = [
        ["host", ...both((result) => result.peak_host_bytes)],
        ["largest partition", ...both(peak)],
        ["streamed", ...both(streamed)],
    ];
    const rows = bothStages(now, earlier);
    return section(
        `Against ${name}`,
        el("p", { class: bad ? "message verdict" : "verdict" }, bad ? el("strong", { class: "bad" }, verdict) : verdict),
        el(
            "div",
            { class: "pair" },
            table("Counts of both", comparedColumns("count", thousands), [
                ...countsOf(now, earlier),
                ["vertices", now.vertices, earlier.vertices],
                ["edges", now.edges, earlier.edges],
            ]),
            table("Memory of both", comparedColumns("memory", bytes), memory),
            table("Seconds of both", comparedColumns("time", seconds), [["whole job", now.seconds, earlier.seconds], ...rows]),
            figure({
                label: "Time of each stage in both.",
                height: () => 68 + 32 * rows.length,
                option: (context) => bothOption(rows, context),
            }),
        ),
        settingsThatDiffer(now, earlier),
    );
}
