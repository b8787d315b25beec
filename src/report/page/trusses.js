// The sizes of the trusses, edges by k. Input: what a truss decomposition found.

const TRUSS = [
    { heading: "k", cell: (truss) => thousands(truss.k) },
    { heading: "vertices", cell: (truss) => thousands(truss.vertices) },
    { heading: "edges", cell: (truss) => thousands(truss.edges) },
];

function trussTip(truss) {
    return tip(`The ${thousands(truss.k)}-truss`, [
        ["vertices", thousands(truss.vertices)],
        ["edges", thousands(truss.edges)],
    ]);
}

/** A sentence on where peeling was to end; null if all edges fell. */
function peelingEnded({ until, largest_k }) {
    if (until === null) {
        return null;
    }
    return until === largest_k
        ? `Peeling ended at k = ${thousands(until)}: trusses of larger k were not searched for.`
        : `No edge is in a truss of k = ${thousands(until)}, at which peeling was to end.`;
}

/** The trusses; null where the graph was not peeled. */
function trusses(result) {
    const known = result.truss;
    if (!known) {
        return null;
    }
    const sizes = known.by_k;
    const largestTruss = sizes[sizes.length - 1];
    // Between two of these k, the truss is that of the larger one: the line steps after the smaller one.
    const line = { type: "line", step: "start", showAllSymbol: true, showSymbol: sizes.length <= 200 };
    return section(
        "Trusses",
        sentences(
            "The k-truss is the largest subgraph in which every edge is in at least k - 2 triangles of the subgraph.",
            peelingEnded(known),
        ),
        facts([
            ["Largest k", largestTruss && thousands(known.largest_k)],
            ["Vertices of its truss", largestTruss && thousands(largestTruss.vertices)],
            ["Edges of its truss", largestTruss && thousands(largestTruss.edges)],
            ["Rounds of removal", thousands(known.rounds)],
        ]),
        sizes.length === 0
            ? null
            : pointsFigure(
                  "Edges of the k-truss for each k. The axis of edges is logarithmic.",
                  sizes.map(({ k, edges }) => [k, edges]),
                  {
                      x: { type: "value", name: "k", min: 2, max: Math.max(known.largest_k, 3), minInterval: 1, axisLabel: { formatter: roundNumber } },
                      name: "edges of the k-truss",
                      colour: "green",
                      tipOf: (i) => trussTip(sizes[i]),
                      ...line,
                  },
              ),
        sizes.length === 0 ? null : numbers(`Numbers of ${counted(sizes.length, "truss", "trusses")}`, TRUSS, sizes),
    );
}
