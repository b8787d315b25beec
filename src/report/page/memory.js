// The memory of partitions against the budget. Input: partitions of a count or a plan. Output: a figure. Up to a dozen partitions are
// horizontal bars; more are columns, with a slider to look closer.

const FEW = 12;

/** Whether a budget or a bound is drawn. The axis follows the bars; a value that would make them very short is only in the caption. */
function onAxis(most, value) {
    return value > 0 && value <= 4 * most;
}

function memoryOption({ rows, budget, series, lines, few, tipOf }, { colours, width }) {
    const most = greatest([...series, ...lines].map(({ top }) => greatest(rows.map(([, row]) => Number(top(row))))));
    const shown = onAxis(most, budget);
    const values = { ...byteAxis(shown ? Math.max(most, budget) : most) };
    const names = {
        type: "category",
        data: rows.map(([name]) => name),
        name: few ? "" : "partition",
        nameLocation: "middle",
        nameGap: 26,
        inverse: few,
        axisTick: { show: false },
    };
    const line = shown ? budgetLine(few ? "xAxis" : "yAxis", budget, colours, few ? "start" : "insideStartTop") : undefined;
    const data = (of) => rows.map(([, row]) => Number(of.value(row)));
    const bars = series.map((of, i) => ({
        type: "bar",
        name: of.name,
        stack: of.stack,
        data: data(of),
        barMaxWidth: 26,
        barCategoryGap: few ? "30%" : rows.length > 150 ? "0%" : "20%",
        itemStyle: of.bound
            ? { color: "transparent", borderColor: colours[of.colour], borderType: "dashed", borderWidth: 1.5 }
            : { color: colours[of.colour] },
        markLine: i === 0 ? line : undefined,
    }));
    const steps = lines.map((of) => ({
        type: "line",
        name: of.name,
        data: data(of),
        step: "middle",
        showSymbol: rows.length === 1,
        symbol: "none",
        lineStyle: { color: colours[of.colour], width: rows.length > 150 ? 1 : 1.5, type: of.bound ? "dashed" : "solid" },
        itemStyle: { color: colours[of.colour] },
    }));
    const zoom =
        few || rows.length <= 40
            ? undefined
            : [{ type: "slider", height: 18, bottom: 6, xAxisIndex: 0, showDataShadow: false, showDetail: false }];
    return {
        grid: {
            left: few ? (width < 600 ? 46 : 90) : 74,
            right: few ? 34 : 16,
            top: few && shown ? 52 : 34,
            bottom: few ? 30 : zoom ? 72 : 46,
        },
        legend: { data: [...series, ...lines].map(({ name }) => name) },
        tooltip: barTip((i) => tipOf(rows[i][1])),
        dataZoom: zoom,
        xAxis: few ? values : names,
        yAxis: few ? names : values,
        series: [...bars, ...steps],
    };
}

/** A control that orders partitions; `changed` gets whether the largest come first. */
function orderControl(changed) {
    const choice = el(
        "select",
        { change: (event) => changed(event.target.value === "largest") },
        el("option", { value: "number" }, "by number"),
        el("option", { value: "largest" }, "largest first"),
    );
    return el("label", { class: "control" }, "Order of partitions: ", choice);
}

/**
 * The figure. `bars` and `lines` are series: `name`, `colour`, `value(partition)`, and for stacked ones `stack` and `top(partition)`, where
 * the stack ends; `bound: true` where values are at most so large, which is drawn as an outline. `sizeOf` orders partitions; `columns` is the table behind the chart.
 */
function memoryFigure({ label, partitions, budget, bars, lines, sizeOf, columns, tipOf }) {
    const withTop = (series) => series.map((of) => ({ top: of.value, ...of }));
    const few = partitions.length <= FEW;
    const data = { budget, few, tipOf, series: withTop(bars), lines: withTop(lines) };
    const order = (largestFirst) => {
        const sorted = largestFirst ? [...partitions].sort((a, b) => sizeOf(b) - sizeOf(a)) : partitions;
        data.rows = sorted.map((partition) => [String(partition.id), partition]);
    };
    order(false);
    const height = () => (few ? 90 + 34 * partitions.length : 360);
    const made = figure({
        label,
        height,
        option: (context) => memoryOption(data, context),
        controls: few
            ? null
            : orderControl((largestFirst) => {
                  order(largestFirst);
                  redraw(made);
              }),
        table: numbers(`Numbers of ${counted(partitions.length, "partition")}`, columns, partitions),
    });
    return made;
}

/** Whether peaks are predicted as upper bounds: they are exact on a GPU in the in-place mode. */
function isBound({ backend, mode }) {
    return backend === "cpu" || mode === "spilled";
}

/** Predicted and actual memory of the partitions of a count. */
function countedMemory(result) {
    const most = largest(result.partitions, (partition) => partition.peak_bytes);
    if (!most) {
        return null;
    }
    const budget = result.device_memory;
    const bound = isBound(result);
    const predicted = {
        name: bound ? "predicted, at most" : "predicted peak",
        colour: "orange",
        bound,
        value: (p) => p.peak_bytes_predicted,
    };
    const actual = { name: "actual peak", colour: "blue", value: (p) => p.peak_bytes };
    const few = result.partitions.length <= FEW;
    const [highest, promised] = ["peak_bytes", "peak_bytes_predicted"].map((of) => greatest(result.partitions.map((p) => p[of])));
    const withBound = !bound || onAxis(highest, promised);
    const far = withBound ? "" : " This upper bound is beyond the axis.";
    const beyond = onAxis(withBound ? Math.max(highest, promised) : highest, budget)
        ? ""
        : ` The budget of ${bytes(budget)} is beyond the axis.`;
    const over = result.partitions.filter((p) => p.peak_bytes > budget).length;
    const exceeds = over > 0 ? ` ${counted(over, "partition")} took more than the budget.` : "";
    return section(
        "Memory of each partition",
        memoryFigure({
            label:
                `Device memory of ${counted(result.parts, "partition")}: at most ${ofBudget(most.peak_bytes, budget)}, in partition ` +
                `${most.id}, for which ${bound ? "at most " : ""}${bytes(most.peak_bytes_predicted)} were predicted.${far}${beyond}${exceeds}`,
            partitions: result.partitions,
            budget,
            bars: few && withBound ? [predicted, actual] : [actual],
            lines: few || !withBound ? [] : [predicted],
            sizeOf: (p) => p.peak_bytes,
            columns: partitionColumns("file", result.mode),
            tipOf: (p) =>
                tip(`Partition ${p.id}`, [
                    [predicted.name, bytes(p.peak_bytes_predicted)],
                    ["actual peak", ofBudget(p.peak_bytes, budget)],
                    ["resident rows", bytes(p.resident_bytes)],
                    ["largest row block", bytes(p.largest_block_bytes)],
                    ["row blocks", thousands(p.row_blocks)],
                    ["streamed", bytes(p.stream_bytes)],
                    ["triangles", thousands(p.triangles)],
                    ["time", seconds(p.seconds)],
                    ["GPU", p.device],
                ]),
        }),
    );
}
