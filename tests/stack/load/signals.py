"""Values in time: constants, and curves from recorded load. Each gives its value at a moment and its integral."""

import bisect
import calendar
import time

from aws import checked

MAX_POINTS = 2000000
FORMATS = ("%Y-%m-%d %H:%M:%S", "%Y-%m-%dT%H:%M:%S", "%Y-%m-%dT%H:%M:%SZ")


class Constant:
    def __init__(self, value):
        self.number = value

    def value(self, _t):
        return self.number

    def integral(self, start, end):
        return self.number * (end - start)

    def shown(self):
        return self.number


class Curve:
    """Steps: a value holds until the next point; across a gap the last one holds. Clipped to [low, high]."""

    def __init__(self, points, begun, speed, loop, low, high):
        self.times = [t for t, _ in points]
        self.values = [min(high, max(low, v)) for _, v in points]
        self.begun, self.speed, self.loop = begun, speed, loop
        first = self.times[0]
        self.times = [t - first for t in self.times]
        # The last point lasts as long as the one before it, so that a loop has no instant jump.
        last_step = self.times[-1] - self.times[-2] if len(points) > 1 else 1.0
        self.length = self.times[-1] + last_step
        self.sums = [0.0]
        for i, value in enumerate(self.values):
            end = self.times[i + 1] if i + 1 < len(self.times) else self.length
            self.sums.append(self.sums[-1] + value * (end - self.times[i]))

    def _place(self, t):
        """Seconds into the curve, not wrapped."""
        return max(0.0, (t - self.begun) * self.speed)

    def value(self, t):
        place = self._place(t)
        place = place % self.length if self.loop else min(place, self.times[-1])
        return self.values[bisect.bisect_right(self.times, place) - 1]

    def _sum_to(self, place):
        if not self.loop and place >= self.length:
            return self.sums[-1] + self.values[-1] * (place - self.length)
        rounds, rest = divmod(place, self.length)
        i = bisect.bisect_right(self.times, rest) - 1
        return rounds * self.sums[-1] + self.sums[i] + self.values[i] * (rest - self.times[i])

    def integral(self, start, end):
        return (self._sum_to(self._place(end)) - self._sum_to(self._place(start))) / self.speed

    def shown(self):
        return {"points": len(self.times), "length_s": self.length, "speed": self.speed, "loop": self.loop, "value": self.value(time.time())}


def parse_time(text):
    """Unix seconds, or a date and time in UTC."""
    try:
        return float(text)
    except ValueError:
        pass
    for form in FORMATS:
        try:
            return float(calendar.timegm(time.strptime(text, form)))
        except ValueError:
            continue
    raise ValueError(f"'{text}' is neither Unix seconds nor YYYY-MM-DD HH:MM:SS")


def parse_csv(text, name="csv"):
    """[(seconds, value)] in the order of time. One header line is allowed; the final newline may lack."""
    points = []
    for number, line in enumerate(text.splitlines(), 1):
        cells = [c.strip() for c in line.split(",")]
        if cells == [""]:
            continue
        try:
            if len(cells) < 2:
                raise ValueError("needs two columns: time, value")
            point = (parse_time(cells[0]), float(cells[1]))
            if not abs(point[1]) < 1e15:
                raise ValueError(f"value {cells[1]} is not a usable number")
        except ValueError as exc:
            if number == 1 and len(cells) >= 2:
                continue  # the header
            raise checked.Refused(f"{name}: line {number}: {exc}") from None
        points.append(point)
        if len(points) > MAX_POINTS:
            raise checked.Refused(f"{name}: more than {MAX_POINTS} points")
    if not points:
        raise checked.Refused(f"{name}: no points")
    points.sort(key=lambda p: p[0])
    # Recorded series repeat a time when clocks go back: the later value stands.
    unique = dict(points)
    return sorted(unique.items())


def read_signal(fields, key, low=0.0, high=1e12, required=False):
    """A number or {"curve": {...}} under `key`; None if absent."""
    value = fields.take(key, None, required)
    if value is None:
        return None
    if not isinstance(value, dict):
        return Constant(checked.check_number(value, fields.name(key), low, high))
    outer = checked.Fields(value, fields.name(key))
    curve = outer.object("curve", required=True)
    outer.done()
    return read_curve(curve, low, high)


def read_curve(fields, low, high):
    path = fields.string("file")
    text = fields.string("csv", longest=checked.MAX_BODY_BYTES)
    speed = fields.number("speed", 1.0, low=1e-6, high=1e6)
    loop = fields.boolean("loop", True)
    scale = fields.number("scale", None, low=-1e12)
    peak = fields.number("peak", None, high=1e12)
    start_s = fields.number("start_s", 0.0)
    fields.done()
    if (path is None) == (text is None):
        raise checked.Refused(f"{fields.name('file')}: give either file or csv")
    if scale is not None and peak is not None:
        raise checked.Refused(f"{fields.name('peak')}: and scale exclude each other")
    if path is not None:
        try:
            with open(path, encoding="utf-8") as source:
                text = source.read()
        except (OSError, UnicodeDecodeError) as exc:
            raise checked.Refused(f"{fields.name('file')}: cannot read {path}: {exc}") from None
    points = parse_csv(text, fields.name("csv" if path is None else "file"))
    if peak is not None:
        highest = max(v for _, v in points)
        scale = peak / highest if highest > 0 else 1.0
    points = [(t, v * (1.0 if scale is None else scale)) for t, v in points]
    return Curve(points, time.time() - start_s / speed, speed, loop, low, high)
