// Degrees and clustering by degree, log-log. Input: the bins of degrees and the summary of clustering, where they were computed.

/** The middle of a bin on a logarithmic axis. */
const middleOf = (bin) => (bin.from === bin.to ? bin.from : Math.sqrt(bin.from * bin.to));

/** Vertices for each degree of a bin. */
const perDegree = (bin) => bin.vertices / (bin.to - bin.from + 1);

const degreesOf = (bin) => (bin.from === bin.to ? thousands(bin.from) : `${thousands(bin.from)} to ${thousands(bin.to)}`);

function binTip(bin) {
    return tip(`Degree ${degreesOf(bin)}`, [
        ["vertices", thousands(bin.vertices)],
        ["for each degree", bin.from === bin.to ? null : rounded(perDegree(bin))],
        ["triangles at them", orDash(bin.triangles, thousands)],
        ["average local clustering", orDash(bin.average_clustering, (value) => value.toPrecision(3))],
    ]);
}

const BIN = [
    { heading: "degree", cell: degreesOf },
    { heading: "vertices", cell: (bin) => thousands(bin.vertices) },
    { heading: "vertices for each degree", cell: (bin) => rounded(perDegree(bin)) },
    { heading: "triangles at them", cell: (bin) => orDash(bin.triangles, thousands) },
    { heading: "average local clustering", cell: (bin) => orDash(bin.average_clustering, (value) => value.toPrecision(4)) },
];

/** The distribution of degrees, and clustering by degree; null where no degrees were recorded. */
function degrees(result) {
    const bins = (result.degrees ?? []).filter(({ vertices }) => vertices > 0);
    if (bins.length === 0) {
        return null;
    }
    const clustered = bins.filter((bin) => bin.average_clustering > 0);
    const pairs = bins.filter((bin) => bin.average_clustering !== null && bin.average_clustering !== undefined);
    const zeros = pairs.length - clustered.length;
    const left = zeros > 0 ? ` ${counted(zeros, "bin")} of degrees without a triangle ${zeros === 1 ? "is" : "are"} not on the axis.` : "";
    const x = { ...logAxis(), name: "degree", min: 1 };
    const plot = (label, bins, { value, ...series }) => {
        const points = bins.map((bin) => [middleOf(bin), value(bin)]);
        return pointsFigure(label, points, { x, type: "scatter", tipOf: (i) => binTip(bins[i]), ...series });
    };
    return section(
        "Degrees",
        el(
            "div",
            { class: "pair" },
            plot(
                `Vertices of each degree; the largest degree is at most ${thousands(bins[bins.length - 1].to)}. Both axes are logarithmic.`,
                bins,
                { value: perDegree, name: "vertices for each degree", colour: "blue" },
            ),
            clustered.length === 0
                ? null
                : plot(`Average local clustering coefficient by degree. Both axes are logarithmic.${left}`, clustered, {
                      value: (bin) => bin.average_clustering,
                      name: "average local clustering",
                      label: String,
                      colour: "purple",
                  }),
        ),
        numbers(`Numbers of ${counted(bins.length, "bin")} of degrees`, BIN, bins),
    );
}

const QUANTILE = [
    { heading: "share of the vertices", cell: (quantile) => percent(quantile.share) },
    { heading: "triangles, at most", cell: (quantile) => thousands(quantile.triangles) },
    { heading: "local clustering, degree 2 and more, at most", cell: (quantile) => quantile.local.toPrecision(4) },
];

/** What the triangles at all vertices say; null where only the total was counted. */
function clustering(result) {
    const known = result.clustering;
    if (!known) {
        return null;
    }
    const vertex = known.most_triangles_name ?? known.most_triangles_vertex;
    const most = vertex === null ? null : `${thousands(known.most_triangles)}, vertex ${vertex}`;
    return section(
        "Clustering",
        facts([
            ["Average local clustering, degree 2 and more", known.average_clustering_of_degree_2.toPrecision(4)],
            ["The same over all vertices", known.average_clustering.toPrecision(4)],
            ["Vertices of degree 2 and more", thousands(known.vertices_of_degree_2)],
            ["Vertices in triangles", thousands(known.vertices_in_triangles)],
            ["Most triangles at a vertex", most],
        ]),
        known.quantiles.length === 0 ? null : table("Quantiles over the vertices", QUANTILE, known.quantiles),
    );
}
