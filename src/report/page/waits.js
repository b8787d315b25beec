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

const isJoined = (span) => span.merged > 1;

/** The time in spans, without the gaps in joined ones. If none is joined, the time that several of them cover counts once. */
function timeIn(spans) {
    return spans.some(isJoined) ? spans.reduce((sum, span) => sum + (span.busy ?? span.seconds), 0) : lengthOf(spans.map(intervalOf));
}

/** The share of time in which spans that were joined did something; 1 for others. */
function density(spans) {
    const length = lengthOf(spans.map(intervalOf));
    return length > 0 ? Math.min(timeIn(spans) / length, 1) : 0;
}

/** The time of a track: working, waiting, and the waiting spans by what they waited for. */
function timeOf(track) {
    const waiting = track.spans.filter((span) => span.waiting);
    const reasons = new Map();
    for (const span of waiting) {
        reasons.set(span.name, reasons.get(span.name) ?? []);
        reasons.get(span.name).push(span);
    }
    return { working: timeIn(track.spans.filter((span) => !span.waiting)), waiting: timeIn(waiting), reasons };
}

/**
 * What counting waited for most: `share` of the time from its first span to its last, over all counting threads; null without a wait.
 * A GPU waits only while none of its kernels runs. `about`: spans were joined, so that is estimated.
 */
function mostWaited(timeline) {
    const waits = new Map();
    let [whole, about] = [0, false];
    for (const track of timeline.tracks.filter(({ kind, spans }) => kind === "counting" && spans.length > 0)) {
        const onDevice = ({ kind, device }) => kind === "kernels" && device === track.device && device !== null;
        const running = timeline.tracks.filter(onDevice).flatMap(({ spans }) => spans);
        const ends = track.spans.map(intervalOf);
        whole += ends.reduce((last, [, to]) => Math.max(last, to), 0) - ends.reduce((first, [from]) => Math.min(first, from), Infinity);
        about = about || [...track.spans, ...running].some(isJoined);
        for (const [reason, spans] of timeOf(track).reasons) {
            const [waited, ran] = [spans, running].map((of) => of.map(intervalOf));
            const busy = (shared(waited, ran) / (lengthOf(waited) || 1)) * density(running);
            waits.set(reason, (waits.get(reason) ?? 0) + timeIn(spans) * (1 - busy));
        }
    }
    const [reason, time] = [...waits].sort((a, b) => b[1] - a[1])[0] ?? [null, 0];
    return whole > 0 && time > 0 ? { reason, share: time / whole, about } : null;
}

/** The sentence of a result; null where nothing is known. */
function waitSentence(result) {
    const gpus = new Set(result.devices.map(({ device }) => device)).size;
    const counter = gpus === 0 ? "The CPU" : gpus === 1 ? "The GPU" : `The ${gpus} GPUs`;
    const counting = result.timeline?.tracks.some(({ kind, spans }) => kind === "counting" && spans.length > 0);
    if (counting) {
        const most = mostWaited(result.timeline);
        if (!most || most.share < 0.01) {
            return `${counter} hardly waited: less than 1% of counting.`;
        }
        // The name of joined waits for different things (system/src/timeline.rs).
        const reason = most.reason === "several" ? "several things" : most.reason;
        return `${counter} waited ${most.about ? "about " : ""}${percent(most.share)} of counting for ${reason}.`;
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
