// The page's data: the JSON results, as the command prints them, and what the page says of each. Input: the page's
// elements of JSON. Output: objects whose integers are exact.

/** JSON text as a value. An integer above 2^53, which a double does not hold, becomes a BigInt. */
function parsed(text) {
    const tokens = /"[^"\\]*(?:\\.[^"\\]*)*"|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/g;
    const isLarge = (token) => /^-?\d{16,}$/.test(token) && !Number.isSafeInteger(Number(token));
    const marked = text.replace(tokens, (token) => (isLarge(token) ? `"\\u0000${token}"` : token));
    return JSON.parse(marked, (_, value) => (typeof value === "string" && /^\0-?\d+$/.test(value) ? BigInt(value.slice(1)) : value));
}

/** The JSON text of a result as the command printed it: `\u003c` stands for `<` in the page. */
function printed(id) {
    const text = document.getElementById(id).textContent.trim();
    return `${text.replace(/\\(?:u003c|.)/g, (escape) => (escape === "\\u003c" ? "<" : escape))}\n`;
}

/**
 * All results with their context: `id`, `kind`, `title`, `job`, `rates`, and `result`; with an earlier result to compare with, `earlier`, and
 * in `against` the name of its file.
 */
function readEntries() {
    const context = parsed(document.getElementById("context").textContent);
    const read = (id) => parsed(document.getElementById(id).textContent);
    const entries = context.entries.map((entry, i) => {
        const id = `result-${i + 1}`;
        return { ...entry, id, result: read(id), earlier: entry.against ? read(`${id}-earlier`) : null };
    });
    return { ...context, entries };
}

/** The columns of a table of partitions, which the program's other tables have, too. */
function partitionColumns(table, mode) {
    const { columns } = parsed(document.getElementById("context").textContent);
    const cells = { number: orDash, count: thousands, bytes, seconds, flag: (value) => (value ? "yes" : "no") };
    const applies = ({ tables, spilled }) => tables.includes(table) && (mode === "spilled" || !spilled);
    return columns.filter(applies).map(({ name, heading, kind }) => ({
        heading: heading.replace("\n", " "),
        text: kind === "flag",
        cell: (partition) => cells[kind](partition[name]),
    }));
}

/** Lets the browser save `text` as a file. */
function save(text, name, type) {
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([text], { type }));
    link.download = name;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}
