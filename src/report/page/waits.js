// What a job waited for, in a sentence. Input: the spans of the timeline, else the stages of the result.

/** Intervals, merged where they touch, in order. */
function merged(intervals) {
    const all = [];
    for (const [from, to] of [...intervals].sort((a, b) => a[0] - b[0])) {
        const last = all[all.length - 1];
        if (last && from <= last[1]) {
            last[1] = Math.max(last[1], to);
        } else {
            all.push([from, to]);
        }
    }
    return all;
}

/** The total length of intervals. */
function lengthOf(intervals) {
    return merged(intervals).reduce((sum, [from, to]) => sum + to - from, 0);
}

/** The length of what `intervals` and `others` have in common. */
function shared(intervals, others) {
    return lengthOf(intervals) + lengthOf(others) - lengthOf([...intervals, ...others]);
}

const intervalOf = (span) => [span.start, span.start + span.seconds];

/** `rows` of `waiting for rows`. */
function reasonOf(span) {
    return span.name.replace(/^wait(s|ed|ing)?( for)? +/i, "") || "something";
}

/** The seconds of a track's spans: working, waiting, and waiting by reason. */
function timeOf(track) {
    const waiting = track.spans.filter((span) => span.waiting);
    const reasons = new Map();
    for (const span of waiting) {
        reasons.set(reasonOf(span), [...(reasons.get(reasonOf(span)) ?? []), intervalOf(span)]);
    }
    return {
        working: lengthOf(track.spans.filter((span) => !span.waiting).map(intervalOf)),
        waiting: lengthOf(waiting.map(intervalOf)),
        reasons,
    };
}

/**
 * What counting waited for most: `share` of the time from its first span to its last, over all counting threads; null without
 * a wait. A GPU waits only while none of its kernels runs.
 */
function mostWaited(timeline) {
    const waits = new Map();
    let whole = 0;
    for (const track of timeline.tracks.filter(({ kind, spans }) => kind === "counting" && spans.length > 0)) {
        const onDevice = ({ kind, device }) => kind === "kernels" && device === track.device;
        const running = timeline.tracks.filter(onDevice).flatMap(({ spans }) => spans.filter((span) => !span.waiting));
        const ends = track.spans.map(intervalOf);
        whole += Math.max(...ends.map(([, to]) => to)) - Math.min(...ends.map(([from]) => from));
        for (const [reason, intervals] of timeOf(track).reasons) {
            const busy = track.device === null ? 0 : shared(intervals, running.map(intervalOf));
            const forDevice = /device|gpu|kernel/i.test(reason);
            const lost = forDevice ? lengthOf(intervals) : lengthOf(intervals) - busy;
            waits.set(reason, (waits.get(reason) ?? 0) + lost);
        }
    }
    const [reason, time] = [...waits].sort((a, b) => b[1] - a[1])[0] ?? [null, 0];
    return whole > 0 && time > 0 ? { reason, share: time / whole, time, whole } : null;
}

/** The sentence of a result; null where nothing is known. */
function waitSentence(result) {
    const gpus = new Set(result.devices.map(({ device }) => device)).size;
    const counter = gpus === 0 ? "The CPU" : gpus === 1 ? "The GPU" : `The ${gpus} GPUs`;
    const counting = result.timeline?.tracks.some(({ kind, spans }) => kind === "counting" && spans.length > 0);
    if (counting) {
        const most = mostWaited(result.timeline);
        if (!most || most.share < 0.01) {
            return `${counter} waited for nothing: less than 1% of counting.`;
        }
        if (gpus > 0 && /device|gpu|kernel/i.test(most.reason)) {
            return `The kernels were the limit: the host waited ${percent(most.share)} of counting for ${most.reason}.`;
        }
        return `${counter} waited ${percent(most.share)} of counting for ${most.reason}.`;
    }
    const of = (name) => result.stages.find((stage) => stage.name === name)?.seconds ?? 0;
    if (gpus === 1 && of("kernel") > 0 && of("count") > 0) {
        return `The GPU's kernels ran during ${percent(Math.min(of("kernel") / of("count"), 1))} of counting.`;
    }
    return null;
}

/** The longest stage, in a sentence; null without stages. */
function longestStage(result) {
    const longest = [...result.stages].sort((a, b) => b.seconds - a.seconds)[0];
    if (!longest || !(longest.seconds > 0) || !(result.seconds > 0)) {
        return null;
    }
    const share = longest.seconds <= result.seconds ? ` (${percent(longest.seconds / result.seconds)} of the job)` : "";
    return `The longest stage is ${longest.name}: ${seconds(longest.seconds)}${share}.`;
}
