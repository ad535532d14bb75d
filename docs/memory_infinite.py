#!/usr/bin/env python3
"""Ten minutes of `go infinite`: memory and nodes every ten seconds, as a plot.

    docs/memory_infinite.py record BINARY OUT.jsonl [SECONDS] -- OPTION=VALUE …
    docs/memory_infinite.py plot PICTURE.svg NAME=RECORD.jsonl …
"""
import json
import subprocess
import sys
import threading
import time


def record(binary, out, seconds, options):
    engine = subprocess.Popen([binary], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1)
    nodes, ended = [0], threading.Event()

    def listen():
        for line in engine.stdout:
            if " nodes " in line:
                nodes[0] = int(line.split(" nodes ")[1].split()[0])
            if line.startswith("bestmove"):
                ended.set()

    threading.Thread(target=listen, daemon=True).start()
    for option in options:
        name, value = option.split("=", 1)
        print(f"setoption name {name} value {value}", file=engine.stdin)
    print("position startpos\ngo infinite", file=engine.stdin, flush=True)
    with open(out, "w") as file:
        for second in range(0, seconds + 1, 10):
            status = dict(line.split(":", 1) for line in open(f"/proc/{engine.pid}/status") if ":" in line)
            row = {"s": second, "rss_kib": int(status["VmRSS"].split()[0]), "nodes": nodes[0]}
            print(json.dumps(row), file=file, flush=True)
            time.sleep(10)
        begun = time.monotonic()
        print("stop", file=engine.stdin, flush=True)
        ended.wait()
        print(json.dumps({"stop_ms": 1000 * (time.monotonic() - begun)}), file=file)
    print("quit", file=engine.stdin, flush=True)


def plot(picture, records):
    width, height, left, top, bottom = 640, 300, 60, 20, 40
    rows = {name: [json.loads(line) for line in open(path)] for name, path in records}
    rows = {name: [row for row in all_rows if "rss_kib" in row] for name, all_rows in rows.items()}
    last = max(row["s"] for all_rows in rows.values() for row in all_rows)
    most = max(row["rss_kib"] for all_rows in rows.values() for row in all_rows) / 1024 * 1.2
    x = lambda s: left + s / last * (width - left - 20)
    y = lambda mib: height - bottom - mib / most * (height - top - bottom)
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" font-family="sans-serif" font-size="12">']
    parts.append(f'<rect width="{width}" height="{height}" fill="white"/>')
    for mib in range(0, int(most) + 1, 20):
        parts.append(f'<path d="M{left} {y(mib):.1f}H{width - 20}" stroke="#ddd"/><text x="{left - 6}" y="{y(mib) + 4:.1f}" text-anchor="end">{mib}</text>')
    for second in range(0, int(last) + 1, 120):
        parts.append(f'<text x="{x(second):.1f}" y="{height - bottom + 16}" text-anchor="middle">{second // 60} min</text>')
    parts.append(f'<text x="8" y="14">MiB resident</text>')
    for (name, all_rows), colour in zip(rows.items(), ["#0b6", "#06c", "#c40"]):
        points = " ".join(f"{x(row['s']):.1f},{y(row['rss_kib'] / 1024):.1f}" for row in all_rows)
        parts.append(f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="2"/>')
        end = all_rows[-1]
        label = f"{name}: {end['nodes']:,} nodes"
        parts.append(f'<text x="{width - 24}" y="{y(end["rss_kib"] / 1024) - 6:.1f}" text-anchor="end" fill="{colour}">{label}</text>')
    parts.append("</svg>")
    with open(picture, "w") as file:
        file.write("\n".join(parts) + "\n")


if __name__ == "__main__":
    what, *rest = sys.argv[1:]
    if what == "plot":
        plot(rest[0], [argument.split("=", 1) for argument in rest[1:]])
    else:
        cut = rest.index("--") if "--" in rest else len(rest)
        record(rest[0], rest[1], int(rest[2]) if cut > 2 else 600, rest[cut + 1:])
