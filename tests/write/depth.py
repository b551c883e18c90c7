"""The depth of the deepest zone in a Chrome trace: depth.py FILE. Instants count."""
import json
import sys

trace = json.load(open(sys.argv[1]))
events = trace['traceEvents'] if isinstance(trace, dict) else trace
rows, deepest = {}, 0
zones = [e for e in events if e['ph'] in 'Xi']
for zone in sorted(zones, key=lambda e: (round(e['ts'] * 1000), -round(e.get('dur', 0) * 1000))):
    open_ends = rows.setdefault((zone['pid'], zone['tid']), [])
    start = round(zone['ts'] * 1000)
    while open_ends and open_ends[-1] <= start:
        open_ends.pop()
    deepest = max(deepest, len(open_ends))
    open_ends.append(start + round(zone.get('dur', 0) * 1000))
print(deepest)
