// The page: an entry for each result; with several, a summary and a choice of one. The address selects a result, such as `#result-2`.

const KINDS = {
    count: (entry) => [
        summary(entry.result),
        entry.earlier && comparison(entry.result, entry.earlier, entry.against),
        estimates(entry.result),
        countedMemory(entry.result),
        timeline(entry.result),
        stages(entry.result, entry.rates),
        devices(entry.result),
        degrees(entry.result),
        clustering(entry.result),
        trusses(entry.result),
        input(entry.result),
    ],
    plan: (entry) => [
        planSummary(entry.result),
        estimates(entry.result),
        plannedMemory(entry.result),
        moreMemory(entry.result),
        alternatives(entry.result),
        hostFloors(entry.result),
    ],
    bench: (entry) => bench(entry.result),
    failure: (entry) => [
        el("p", { class: "answer bad" }, "The job failed"),
        sentences(FAILURES[entry.result.error.kind] ?? `The kind of the failure: ${entry.result.error.kind}.`),
        el("p", { class: "message" }, entry.result.error.message),
    ],
};

const FAILURES = {
    data: "Something in the input or a file is not as it has to be.",
    usage: "The settings cannot be used.",
    resource: "Something that the job needs was missing: memory, disk, a device or a file.",
    defect: "This is a defect of trimill; please report it.",
    interrupted: "The job was stopped.",
};

/** The settings that repeat a job, and its data. */
function settings(entry) {
    const name =
        entry.title
            .replace(/[^\w.-]+/g, "-")
            .replace(/^[-.]+/, "")
            .slice(0, 80) || entry.id;
    const json = el(
        "button",
        { type: "button", click: () => save(printed(entry.id), `${name}.json`, "application/json") },
        "Save the JSON",
    );
    if (!entry.job) {
        return section("Data", el("p", {}, json));
    }
    const job = el("button", { type: "button", click: () => save(entry.job, `${name}.toml`, "application/toml") }, "Save the job");
    return section(
        "Settings",
        el("p", { class: "note" }, "This job file repeats the job: save it and start ", el("code", {}, "trimill run"), " with it."),
        el("pre", { tabindex: 0, "aria-label": "The job as TOML" }, entry.job),
        el("p", {}, job, " ", json),
    );
}

/** The elements of an entry; a message in their place if its data cannot be shown. */
function article(entry, shown) {
    const made = el(
        "article",
        { class: "entry", id: `entry-${entry.id}`, "aria-label": entry.title, hidden: !shown },
        el("h2", {}, entry.title),
    );
    try {
        made.append(...[KINDS[entry.kind](entry), settings(entry)].flat(Infinity).filter((part) => part));
    } catch (error) {
        made.append(el("p", { class: "message" }, `This result cannot be shown (${error.message}). Its JSON is in this file.`));
        console.error(error);
    }
    return made;
}

/** Figures of an entry in the table of all. */
function outline({ kind, result }) {
    const peak =
        kind === "count"
            ? largest(result.partitions, (p) => p.peak_bytes)?.peak_bytes
            : kind === "plan"
              ? largest(result.partitions, (p) => p.peak_bytes_predicted)?.peak_bytes_predicted
              : null;
    const answers = {
        count: () => thousands(result.triangles),
        plan: () => (result.fits ? "fits" : "does not fit"),
        bench: () => counted(result.graphs.length, "graph"),
        failure: () => el("strong", { class: "bad" }, `failed: ${result.error.kind}`),
    };
    return { answer: answers[kind]?.() ?? kind, peak, result };
}

const OUTLINE = [
    { heading: "job", text: true, cell: ({ entry }) => el("a", { href: `#${entry.id}` }, entry.title) },
    { heading: "triangles", cell: ({ answer }) => answer },
    { heading: "time", cell: ({ result }) => orDash(result.seconds, seconds) },
    { heading: "method", text: true, cell: ({ result }) => result.method ?? "" },
    { heading: "backend", text: true, cell: ({ result }) => result.backend ?? "" },
    { heading: "partitions", cell: ({ result }) => orDash(result.parts, thousands) },
    { heading: "largest partition", cell: ({ peak }) => orDash(peak, bytes) },
    { heading: "device budget", cell: ({ result }) => orDash(result.device_memory, bytes) },
    { heading: "host memory", cell: ({ result }) => orDash(result.peak_host_bytes, bytes) },
];

/** The table of all entries, and the choice of one. */
function overview(entries) {
    const choice = el(
        "select",
        {
            id: "choice",
            change: (event) => {
                location.hash = event.target.value;
            },
        },
        entries.map((entry) => el("option", { value: entry.id }, entry.title)),
    );
    const failed = entries.filter(({ kind }) => kind === "failure").length;
    const rows = entries.map((entry) => ({ entry, ...outline(entry) }));
    return [
        el("h2", {}, `${counted(entries.length, "job")}${failed > 0 ? `, ${thousands(failed)} failed` : ""}`),
        table("All jobs", OUTLINE, rows),
        el("nav", { "aria-label": "Jobs" }, el("label", { for: "choice" }, "Job shown below:"), choice),
    ];
}

/** Shows the entry that the address names, else the first. */
function choose(entries) {
    const named = entries.find(({ id }) => `#${id}` === location.hash) ?? entries[0];
    for (const { id } of entries) {
        document.getElementById(`entry-${id}`).hidden = id !== named.id;
    }
    const choice = document.getElementById("choice");
    if (choice) {
        choice.value = named.id;
    }
    drawVisible();
}

function main() {
    const { version, created, entries } = readEntries();
    const page = document.getElementById("page");
    const titles = entries.map(({ title }) => title);
    document.title = `${titles.slice(0, 3).join(", ")}${titles.length > 3 ? ", …" : ""}: trimill report`;
    page.append(
        el(
            "header",
            {},
            el("h1", {}, "trimill report"),
            el("p", {}, `trimill ${version}, ${new Date(1000 * created).toISOString().slice(0, 19).replace("T", " ")} UTC`),
        ),
        ...(entries.length > 1 ? overview(entries) : []),
        ...entries.map((entry, i) => article(entry, i === 0)),
    );
    choose(entries);
    addEventListener("hashchange", () => choose(entries));
    watchWindow();
}

main();
