// Numbers as text, with units. Input: numbers of the JSON, which are BigInts above 2^53. Sizes look as the program prints them.

/** A number with commas between thousands. */
function thousands(number) {
    const [whole, ...decimals] = String(number).split(".");
    return [whole.replace(/\B(?=(\d{3})+$)/g, ","), ...decimals].join(".");
}

/** `value` with so many decimals. A half goes to the even digit, as the program rounds it; `toFixed` rounds it up. */
function fixed(value, digits) {
    const scaled = value * 10 ** digits;
    // An exact half has few bits; scaling can round another number to a half.
    const half = Number.isInteger(value * 2 ** (digits + 1)) && scaled - Math.floor(scaled) === 0.5;
    return (half ? (2 * Math.round(scaled / 2)) / 10 ** digits : value).toFixed(digits);
}

const SIZES = ["B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];

/** Bytes: `512 B`, `1.5 GiB`. */
function bytes(count) {
    const number = Number(count);
    const unit = number < 1024 ? 0 : Math.min(Math.floor(Math.log2(number) / 10), SIZES.length - 1);
    if (unit === 0) {
        return `${Math.round(number)} B`;
    }
    return `${fixed(number / 1024 ** unit, 1)} ${SIZES[unit]}`;
}

/** The same for an axis: `512 MiB` without `.0`. */
function roundBytes(count) {
    return bytes(count).replace(".0 ", " ");
}

/** Bytes a second; a dash where there are none or no time. */
function byteRate(count, time) {
    return count > 0 && time > 0 ? `${bytes(count / time)}/s` : "–";
}

/** Three significant digits, none of them dropped for numbers from 100 on. */
function threeDigits(value) {
    const size = Math.abs(value);
    return fixed(value, size >= 99.95 ? 0 : size >= 9.995 ? 1 : size >= 0.9995 ? 2 : 3);
}

/** Seconds: `1 h 05 min`, `123 s`, `1.50 s`, `18.9 ms`, `1.29 µs`. */
function seconds(time) {
    if (time >= 3600) {
        return `${Math.floor(time / 3600)} h ${String(Math.floor((time % 3600) / 60)).padStart(2, "0")} min`;
    }
    if (time >= 0.9995) {
        return `${threeDigits(time)} s`;
    }
    if (time >= 0.9995e-3) {
        return `${threeDigits(1e3 * time)} ms`;
    }
    return time > 0 ? `${threeDigits(1e6 * time)} µs` : "0 s";
}

/** Seconds for an axis: `0.2 s`, `50 ms`. */
function roundSeconds(time) {
    const plain = (value) => String(Number(value.toPrecision(6)));
    if (time === 0 || time >= 1) {
        return `${thousands(plain(time))} s`;
    }
    return time >= 1e-3 ? `${plain(1e3 * time)} ms` : `${plain(1e6 * time)} µs`;
}

/** A share: `61%`, `6.1%`, `0.45%`. */
function percent(share) {
    const value = 100 * share;
    if (value > 0 && value < 0.01) {
        return "less than 0.01%";
    }
    return `${fixed(value, value >= 9.95 || value === 0 ? 0 : value >= 0.995 ? 1 : 2)}%`;
}

/** How many times as much: `17.5×`. */
function times(ratio) {
    return `${ratio >= 0.01 ? threeDigits(ratio) : fixed(ratio, 4)}×`;
}

/** A number with a letter for its thousands: `15.7 M`. */
function rounded(number) {
    const value = Number(number);
    const step = value < 1000 ? 0 : Math.min(Math.floor(Math.log10(value) / 3), 4);
    return step === 0 ? String(Number(value.toPrecision(3))) : `${threeDigits(value / 1000 ** step)} ${" kMGT"[step]}`;
}

/** The greatest of any number of values, and at least 0. */
function greatest(values) {
    return values.reduce((most, value) => Math.max(most, value), 0);
}

/** The same for an axis: `10 k`. */
function roundNumber(number) {
    return rounded(number).replace(/\.0+(?= )/, "");
}

/** `1 partition`, `3 partitions`. */
function counted(number, one, many = `${one}s`) {
    return `${thousands(number)} ${number === 1 ? one : many}`;
}

/** The value as text, or a dash where it is null or absent. */
function orDash(value, text = String) {
    return value === null || value === undefined ? "–" : text(value);
}
