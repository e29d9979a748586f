"""What runs, where, since when and with which memory."""

import json
import time

from process import rss_bytes, started_at

MIB = 1 << 20
MEMORY_LIMIT_BYTES = 1200 * 1000 * 1000


def collect(stack):
    """A plain structure; `running` counts parts, `total_rss_bytes` sums them."""
    facts = stack.facts()
    rows = []
    names = facts["parts"] if facts else stack.running()
    for part in stack.parts:
        if part.name not in names:
            continue
        process = stack.process(part.name)
        pid, ports = process.pid(), {}
        if facts:
            ports = {name: facts["ports"][name] for name in part.ports}
        row = {"part": part.name, "state": "running" if pid else "ended", "pid": pid, "ports": ports,
               "log": str(stack.logs / f"{part.name}.log"), "since": None, "rss_bytes": 0}
        if pid:
            row["since"] = round(started_at(process.identity()[1]), 1)
            row["rss_bytes"] = rss_bytes(pid)
        rows.append(row)
    return {"dir": str(stack.dir), "up": facts is not None, "parts": rows, "missing": facts["missing"] if facts else {},
            "running": sum(r["state"] == "running" for r in rows), "start_sec": facts.get("start_sec") if facts else None,
            "total_rss_bytes": sum(r["rss_bytes"] for r in rows)}


def age(seconds):
    seconds = int(seconds)
    if seconds < 120:
        return f"{seconds}s"
    return f"{seconds // 60}m" if seconds < 7200 else f"{seconds // 3600}h{seconds % 3600 // 60:02d}m"


def text(state):
    if not state["parts"]:
        return f"no stack in {state['dir']}"
    lines = [f"{'PART':<22}{'STATE':<9}{'PID':>8}  {'PORT':<7}{'SINCE':<8}{'MEMORY':>9}"]
    for row in state["parts"]:
        port = next(iter(row["ports"].values()), "")
        since = age(time.time() - row["since"]) if row["since"] else "-"
        memory = f"{row['rss_bytes'] / MIB:.0f} MiB" if row["pid"] else "-"
        lines.append(f"{row['part']:<22}{row['state']:<9}{row['pid'] or '-':>8}  {port!s:<7}{since:<8}{memory:>9}")
        if not row["pid"]:
            lines.append(f"  its log: {row['log']}")
    for name, reason in state["missing"].items():
        lines.append(f"{name:<22}missing  {reason}")
    total = state["total_rss_bytes"]
    lines.append(f"{state['running']} of {len(state['parts'])} parts run, {total / MIB:.0f} MiB in all "
                 f"({total / 1e9:.2f} GB, limit {MEMORY_LIMIT_BYTES / 1e9:.1f} GB)")
    return "\n".join(lines)


def as_json(state):
    return json.dumps(state, indent=1)
