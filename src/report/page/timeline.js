// The timeline: what each thread and device did when. Input: the timeline of a result; spans in one track that overlap get lanes of
// their own. Output: a figure with a slider to look closer.

/** The kinds of tracks: what the legend calls them, and their colours. */
const TRACKS = {
    stages: { name: "stages", colour: "muted" },
    building: { name: "building partitions", colour: "pale" },
    prefetching: { name: "reading ahead", colour: "green" },
    reading: { name: "reading", colour: "green" },
    counting: { name: "counting", colour: "blue" },
    copies: { name: "copies", colour: "orange" },
    kernels: { name: "kernels", colour: "purple" },
    waiting: { name: "waiting", colour: "wait" },
};
const kindOf = (kind) => TRACKS[kind] ?? { name: kind, colour: "muted" };
/** Lanes of a track, at most; more than that share the last. */
const LANES = 4;
/** Rows of the table of spans, at most. */
const SPANS_LISTED = 2000;

/** The lane of each span of a track, and how many there are. */
function lanesOf(spans) {
    const ends = [];
    const order = spans.map((_, i) => i).sort((a, b) => spans[a].start - spans[b].start);
    const lanes = new Array(spans.length);
    for (const i of order) {
        const { start, seconds: time } = spans[i];
        // Clocks differ by some nanoseconds, so spans that follow each other may seem to overlap.
        let lane = ends.findIndex((end) => end <= start + 1e-7);
        if (lane < 0) {
            lane = Math.min(ends.length, LANES - 1);
        }
        ends[lane] = Math.max(ends[lane] ?? 0, start + time);
        lanes[i] = lane;
    }
    return { lanes, count: Math.max(ends.length, 1) };
}

function spanTip(track, span) {
    return tip(span.waiting ? `waits for ${span.name}` : span.name, [
        ["track", track.name],
        ["start", seconds(span.start)],
        ["took", seconds(span.seconds)],
        ["of that busy", span.merged > 1 ? seconds(span.busy ?? span.seconds) : null],
        ["bytes", span.bytes ? bytes(span.bytes) : null],
        ["rate", span.bytes ? byteRate(span.bytes, span.busy ?? span.seconds) : null],
        ["partition", span.partition],
        ["joined here", span.merged > 1 ? `${thousands(span.merged)} neighbours` : null],
    ]);
}

/** Joined spans are fainter, the more time was between them. */
const shade = (span) => (span.merged > 1 && span.seconds > 0 ? Math.max(span.busy / span.seconds, 0.2) : 1);

/** Draws a span, with its name where there is room. */
function drawSpan(tracks, colours, kind) {
    return (params, api) => {
        const [row, at] = [api.value(0), api.value(3)];
        const { spans, lanes, laneCount } = tracks[row];
        const [from, middle] = api.coord([api.value(1), row]);
        const [to] = api.coord([api.value(2), row]);
        const whole = api.size([0, 1])[1] * 0.78;
        const height = whole / laneCount;
        const y = middle - whole / 2 + height * lanes[at];
        // A span narrower than a pixel is drawn fainter, so that a mostly idle track does not look busy.
        const width = Math.max(to - from, kind === "stages" ? 1 : 0.25);
        const named = width > 44 && height > 11 && spans[at].name.length * 6.4 < width;
        const { colour } = kindOf(kind);
        const bar = {
            type: "rect",
            shape: { x: from, y, width, height: Math.max(height - 1, 1) },
            style: { fill: colours[colour], opacity: shade(spans[at]) },
        };
        if (!named) {
            return bar;
        }
        const fill = ["pale", "wait"].includes(colour) ? colours.text : colours.page;
        const style = { text: spans[at].name, x: from + 4, y: y + height / 2, verticalAlign: "middle", fill, fontSize: 11 };
        return { type: "group", children: [bar, { type: "text", silent: true, style }] };
    };
}

function timelineOption(tracks, end, { colours, width }) {
    const kinds = [...new Set(tracks.map(({ kind }) => kind)), "waiting"];
    const data = new Map(kinds.map((kind) => [kind, []]));
    tracks.forEach(({ kind, spans }, row) =>
        spans.forEach((span, i) => data.get(span.waiting ? "waiting" : kind).push([row, span.start, span.start + span.seconds, i])),
    );
    const narrow = width < 600;
    const legend = kinds.map((kind) => kindOf(kind).name);
    return {
        grid: { left: narrow ? 88 : 150, right: 18, top: belowLegend(legend, width), bottom: 70 },
        legend: { data: legend },
        tooltip: { trigger: "item", formatter: ({ value }) => spanTip(tracks[value[0]], tracks[value[0]].spans[value[3]]) },
        dataZoom: [
            { type: "slider", xAxisIndex: 0, height: 18, bottom: 6, filterMode: "weakFilter", showDataShadow: false, showDetail: false },
            { type: "inside", xAxisIndex: 0, filterMode: "weakFilter", zoomOnMouseWheel: "ctrl", moveOnMouseWheel: false },
        ],
        xAxis: {
            type: "value",
            min: 0,
            max: end,
            name: "since the job began",
            nameLocation: "middle",
            nameGap: 24,
            axisLabel: { formatter: roundSeconds, showMaxLabel: false },
        },
        yAxis: nameAxis(
            tracks.map(({ name }) => name),
            { width: narrow ? 80 : 140, overflow: "truncate", fontSize: narrow ? 11 : 12 },
        ),
        series: kinds.map((kind) => ({
            type: "custom",
            name: kindOf(kind).name,
            clip: true,
            data: data.get(kind),
            dimensions: ["track", "start", "end", "span"],
            encode: { x: [1, 2], y: 0 },
            itemStyle: { color: colours[kindOf(kind).colour] },
            renderItem: drawSpan(tracks, colours, kind),
        })),
    };
}

function trackTable(tracks) {
    const sum = (spans) => spans.reduce((total, { bytes: count }) => total + (count ?? 0), 0);
    return table(
        "Time of each track",
        [
            { heading: "track", text: true, cell: ({ name }) => name },
            { heading: "spans", cell: ({ spans }) => thousands(spans.reduce((total, span) => total + (span.merged ?? 1), 0)) },
            { heading: "working", cell: (track) => seconds(timeOf(track).working) },
            { heading: "waiting", cell: (track) => seconds(timeOf(track).waiting) },
            { heading: "bytes", cell: ({ spans }) => (sum(spans) > 0 ? bytes(sum(spans)) : "–") },
            { heading: "rate while working", cell: (track) => byteRate(sum(track.spans), timeOf(track).working) },
            {
                heading: "waited for",
                text: true,
                cell: (track) => [...timeOf(track).reasons].map(([reason, spans]) => `${reason} ${seconds(timeIn(spans))}`).join(", "),
            },
        ],
        tracks,
    );
}

const SPAN = [
    { heading: "track", text: true, cell: ([track]) => track.name },
    { heading: "span", text: true, cell: ([, span]) => span.name },
    { heading: "start", cell: ([, span]) => seconds(span.start) },
    { heading: "took", cell: ([, span]) => seconds(span.seconds) },
    { heading: "bytes", cell: ([, span]) => orDash(span.bytes, bytes) },
    { heading: "partition", cell: ([, span]) => orDash(span.partition) },
    { heading: "joined", cell: ([, span]) => (span.merged > 1 ? thousands(span.merged) : "–") },
    { heading: "waiting", text: true, cell: ([, span]) => (span.waiting ? "yes" : "") },
];

/** The figure; null where no span was recorded. */
function timeline(result) {
    const recorded = (result.timeline?.tracks ?? []).filter(({ spans }) => spans.length > 0);
    if (recorded.length === 0) {
        return null;
    }
    const tracks = recorded.map((track) => {
        const { lanes, count } = lanesOf(track.spans);
        return { ...track, lanes, laneCount: count };
    });
    const all = tracks.flatMap((track) => track.spans.map((span) => [track, span]));
    const end = Math.max(
        result.timeline.seconds,
        ...tracks.map(({ spans }) => spans.reduce((last, span) => Math.max(last, span.start + span.seconds), 0)),
    );
    const many = all.length > SPANS_LISTED;
    const listed = () => (many ? [...all].sort((a, b) => b[1].seconds - a[1].seconds).slice(0, SPANS_LISTED) : all);
    return section(
        "Timeline",
        figure({
            label: `What ran when, over ${seconds(end)}. ${waitSentence(result) ?? ""} Drag the slider, or turn the wheel with Ctrl, to look closer.`,
            height: (width) => (width < 600 ? 150 : 110) + 34 * tracks.length,
            option: (context) => timelineOption(tracks, end, context),
            canvas: all.length > 3000,
            table: numbers(
                many
                    ? `The ${thousands(SPANS_LISTED)} longest of ${thousands(all.length)} spans`
                    : `Numbers of ${counted(all.length, "span")}`,
                SPAN,
                listed,
            ),
        }),
        trackTable(tracks),
    );
}
