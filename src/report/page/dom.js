// Elements of the page. Texts become text nodes, never markup, so no text of a result can add elements.

/** An element. `attributes`: `class`, `aria-label` and others; a function is a listener. Children: elements, texts, arrays, null. */
function el(tag, attributes = {}, ...children) {
    const element = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) {
        if (typeof value === "function") {
            element.addEventListener(name, value);
        } else if (value !== null && value !== undefined && value !== false) {
            element.setAttribute(name, value === true ? "" : String(value));
        }
    }
    element.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined));
    return element;
}

/** A section with a heading. */
function section(heading, ...children) {
    return el("section", {}, el("h3", {}, heading), ...children);
}

/**
 * A table. Columns: `heading`, `cell(row)` (text or element), and `text: true` where it is no number. Where it is wider or higher than its
 * place it scrolls, and fades at the edges behind which there is more.
 */
function table(label, columns, rows) {
    const kind = (column) => ({ class: column.text ? "text" : null });
    const head = el(
        "tr",
        {},
        columns.map((column) => el("th", { scope: "col", ...kind(column) }, column.heading)),
    );
    const body = rows.map((row) =>
        el(
            "tr",
            {},
            columns.map((column) => el("td", kind(column), column.cell(row))),
        ),
    );
    const place = el(
        "div",
        { class: "scroll", role: "region", "aria-label": label, tabindex: 0 },
        el("table", {}, el("thead", {}, head), el("tbody", {}, body)),
    );
    place.addEventListener("scroll", () => showCuts(place), { passive: true });
    resized.observe(place);
    return place;
}

/** Tables whose place changed. */
const resized = new ResizeObserver((places) => places.forEach(({ target }) => showCuts(target)));

/** Marks the edges of a table's place behind which there is more of it. */
function showCuts(place) {
    const [right, below] = [place.scrollWidth - place.clientWidth - place.scrollLeft, place.scrollHeight - place.clientHeight - place.scrollTop];
    const cut = { left: place.scrollLeft > 1, right: right > 1, below: below > 1 };
    for (const [edge, more] of Object.entries(cut)) {
        place.classList.toggle(`cut-${edge}`, more);
    }
}

/** A closed table behind a chart; it is made when it is first opened. */
function numbers(label, columns, rows) {
    const details = el("details", { class: "numbers" }, el("summary", {}, label));
    const fill = () => details.append(table(label, columns, typeof rows === "function" ? rows() : rows));
    details.addEventListener("toggle", fill, { once: true });
    return details;
}

/** Pairs of a name and a value. Those whose value is null are left out. */
function facts(pairs) {
    const known = pairs.filter(([, value]) => value !== null && value !== undefined);
    return el(
        "dl",
        { class: "facts" },
        known.map(([name, value]) => el("div", {}, el("dt", {}, name), el("dd", {}, value))),
    );
}

/** A paragraph of sentences; null is left out. */
function sentences(...parts) {
    return el("p", {}, parts.filter((part) => part).join(" "));
}
