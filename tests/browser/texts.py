"""Numbers as the program prints them, computed here: what the page shows is compared with these."""

import math


def thousands(number):
    return f"{number:,}"


def size(count):
    unit = 0 if count < 1024 else min(int(math.log2(count) // 10), 6)
    return f"{count} B" if unit == 0 else f"{count / 1024 ** unit:.1f} {['B', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB', 'EiB'][unit]}"


def time(taken):
    """A time with three significant digits; no time in the tests is as long as an hour."""
    value, unit = next(((taken * factor, unit) for factor, unit in ((1, "s"), (1e3, "ms")) if taken * factor >= 0.9995), (taken * 1e6, "µs"))
    digits = 0 if value >= 99.95 else 1 if value >= 9.995 else 2 if value >= 0.9995 else 3
    return f"{value:.{digits}f} {unit}" if taken > 0 else "0 s"


def close(a, b):
    """Whether two numbers are equal up to rounding."""
    return a is not None and b is not None and math.isclose(a, b, rel_tol=1e-9, abs_tol=1e-12)


def all_close(some, others):
    return len(some) == len(others) and all(close(a, b) for a, b in zip(some, others))
