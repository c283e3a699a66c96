# SPDX-License-Identifier: Apache-2.0
"""The table of tools/algorithms as Markdown."""
import json

from networks import NETWORKS
from paired import compare, wilson


def right(cell):
    return bytes.fromhex(cell["right"])


def accuracy(cell):
    marks = right(cell)
    low, high = wilson(sum(marks), len(marks))
    return f"{100 * sum(marks) / len(marks):.2f} ({100 * low:.2f} .. {100 * high:.2f})"


def chance(p):
    if p < 1e-99:
        return "p < 1e-99"
    return f"p = {p:.2f}" if p >= 0.01 else f"p = {p:.0e}"


def beside(here, there):
    """Points of accuracy to another file, with their interval and how likely chance makes them."""
    seen = compare(right(here), right(there))
    return f"{100 * seen['difference']:+.2f} ({100 * seen['low']:+.2f} .. {100 * seen['high']:+.2f}), {chance(seen['p'])}"


def level(here, there):
    seen = compare(right(here), right(there))
    if seen["p"] >= 0.05:
        return "level"
    return "**ahead**" if seen["difference"] > 0 else "**behind**"


def cost(cell):
    """Seconds of one core; MB at the most, and how many of them its libraries had before it began."""
    if "cpu_s" not in cell:
        return "|"
    began = f" ({cell['base_mb']})" if "base_mb" in cell else ""
    seconds = cell.get("work_s", cell["cpu_s"])
    return f"{seconds:.{2 if seconds < 1 else 1 if seconds < 10 else 0}f} | {cell['peak_mb']:.0f}{began}"


def peer_key(name, function, settings):
    return f"{name}/{function} {json.dumps(settings)}"


def lines_of(row, name, cells):
    mine = cells.get(f"{name}/{row.name}/octet")
    if mine is None:
        return []
    whole = cells.get(f"{name}/float")
    without = cells.get(f"{name}/{row.beside}/octet", {})
    if "failed" in mine:
        out = [f"| {row.name} | octet | {mine['failed']} | | | | {cost(mine)} |"]
    else:
        gain = beside(mine, without) if "right" in without else ""
        out = [f"| {row.name} | octet | {accuracy(mine)} | {beside(mine, whole)} | {gain} | | {cost(mine)} |"]
    for label, function, settings in row.peers:
        theirs = cells.get(peer_key(name, function, settings))
        if theirs is None:
            continue
        if "failed" in theirs:
            out.append(f"| | {label} | {theirs['failed'].replace('|', '/')} | | | | {cost(theirs)} |")
            continue
        against = f"{beside(mine, theirs)}: {level(mine, theirs)}" if "right" in mine else ""
        note = f" ({theirs['note'].replace('|', '/')})" if theirs.get("note") else ""
        out.append(f"| | {label}{note} | {accuracy(theirs)} | {beside(theirs, whole)} | | {against} | {cost(theirs)} |")
    return out


def text(rows, names, cells):
    out = []
    for name in names:
        whole = cells.get(f"{name}/float")
        if whole is None or "failed" in whole:
            continue
        body = [line for row in rows if name in row.networks for line in lines_of(row, name, cells)]
        out += [f"**{NETWORKS[name].title}**: {accuracy(whole)} % in float, {len(right(whole))} examples.", "",
                "| algorithm | by | accuracy % | to float | octet without it | octet to this | seconds | peak MB |",
                "|---|---|---|---|---|---|---|---|", *body, ""]
    return "\n".join(out)
