"""The command ``pioneers bench``: measure, print a table, write a file."""

import argparse
import json
import sys
from pathlib import Path

from pioneers.bench.benchmarks import Benchmark, benchmarks
from pioneers.bench.measure import Row, as_json, machine, matmul_peak, measure
from pioneers.device import best_device, has_fast_bf16

NAMES = ("gpt", "bert", "vit", "generate", "gpt2")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of ``pioneers bench`` to a parser."""
    parser.add_argument(
        "--only", nargs="+", choices=NAMES, metavar="NAME",
        help=f"measure only these: {', '.join(NAMES)}; on a CPU, gpt2 is skipped unless it is named",
    )  # fmt: skip
    parser.add_argument(
        "--precision", nargs="+", choices=("fp32", "bf16"), metavar="NAME",
        help="fp32, bf16 or both; bf16 is skipped where the processor has to emulate it, unless it is named",
    )  # fmt: skip
    parser.add_argument("--rounds", type=int, default=9, help="timed steps of each library")
    parser.add_argument("--out", type=Path, metavar="FILE", help="also write the results there, as JSON")


def run(args: argparse.Namespace) -> int:
    """Run the benchmarks that the arguments name and print the results."""
    if args.out and not args.out.resolve().parent.is_dir():
        raise FileNotFoundError(
            f"there is no folder {args.out.resolve().parent} to write {args.out.name} into"
        )
    if args.rounds < 1:
        raise ValueError(f"--rounds must be at least 1, not {args.rounds}")
    device = best_device()
    precisions = args.precision or ["fp32", *(["bf16"] if has_fast_bf16(device.type) else [])]
    wanted = args.only or [name for name in NAMES if name != "gpt2" or device.type != "cpu"]
    known = benchmarks(gpt2="gpt2" in wanted)
    peaks = {precision: matmul_peak(precision, device) for precision in precisions}
    report = {
        "command": "pioneers bench",
        "machine": machine(device),
        "rounds": args.rounds,
        "matmul_peak": {precision: float(f"{peak:.4g}") for precision, peak in peaks.items()},
        "benchmarks": {name: known[name].title for name in wanted},
    }
    print(", ".join(f"{key} {value}" for key, value in machine(device).items()))
    rows: list[Row] = []
    for name in wanted:
        print(f"\n{known[name].title}")
        for precision in precisions:
            peak = peaks[precision]
            found, absent = measure(
                name, known[name], precision, device=device, rounds=args.rounds, peak=peak
            )
            rows += found
            print("\n".join(lines(known[name], found)))
            for library, reason in absent.items():
                print(f"  {library} was not measured: {reason}", file=sys.stderr)
    if args.out:
        partial = args.out.with_name(args.out.name + ".partial")
        partial.write_text(json.dumps(report | {"rows": as_json(rows)}, indent=1) + "\n")
        partial.replace(args.out)
        print(f"\nwritten to {args.out}")
    return 0


def lines(benchmark: Benchmark, rows: list[Row]) -> list[str]:
    """Format the table of one benchmark in one precision."""
    head = f"  {rows[0].precision:<5} {'library':<15} {'version':<12} {'parameters':>11} {'ms':>9} "
    table = [head + f"{benchmark.unit + '/s':>10} {'of peak':>8} {'ours is':>8}"]
    for row in sorted(rows, key=lambda row: row.seconds):
        table.append(
            f"        {row.library:<15} {row.version:<12} {row.parameters:>11,} {1000 * row.seconds:>9.1f} "
            f"{row.per_second:>10,.0f} {row.peak_fraction:>8.0%} {row.ratio:>7.2f}×"
        )
    return table
