#!/bin/sh
# prof validate: each rule finds what breaks it, at its byte, and nothing else.
set -u
cd "$(dirname "$0")/../.." || exit 1
# shellcheck source=tests/command/prof.sh
. tests/command/prof.sh

findings() {   # FILE: "BYTE RULE" of each, joined by commas
    "$prof" validate --limit all --format json "$1" 2>/dev/null | python3 -c '
import json, sys
print(",".join("%d %s" % (row["Byte"], row["Rule"]) for row in json.load(sys.stdin)))'
}

finds() {   # NAME EXPECTED EVENTS: in the array form, whose first event begins at byte 1
    printf '[%s]' "$3" >"$out/$1.json"
    got=$(findings "$out/$1.json")
    if [ "$got" = "$2" ]; then echo "ok validate_$1"; return; fi
    failed=1
    echo "not ok validate_$1: $got, not $2"
}

event() {   # TS DUR [PID TID [MORE]]: 99 bytes or so
    printf '{"ph":"X","cat":"cpu_op","name":"n","pid":%s,"tid":%s,"ts":%s,"dur":%s%s}' \
        "${3:-1}" "${4:-1}" "$1" "$2" "${5:-}"
}

gpu() {   # CATEGORY NAME TS DUR ARGS
    printf '{"ph":"X","cat":"%s","name":"%s","pid":0,"tid":7,"ts":%s,"dur":%s,"args":{%s}}' "$@"
}

finds good '' "$(event 0 10),$(event 0 5),$(event 5 5),$(event 2 1 1 2)"
finds no_dur '1 fields' '{"ph":"X","cat":"c","name":"n","pid":1,"tid":1,"ts":0}'
finds no_cat '1 category' '{"ph":"X","name":"n","pid":1,"tid":1,"ts":0,"dur":1},{"ph":"X","name":"n","pid":1,"tid":1,"ts":1,"dur":1}'
finds no_name '1 fields' '{"ph":"X","cat":"c","pid":1,"tid":1,"ts":0,"dur":1}'
finds no_phase '1 fields' '{"cat":"c","name":"n","pid":1,"tid":1,"ts":0,"dur":1}'
finds no_object '1 fields' "5,$(event 0 1)"
finds negative_ts '1 time' "$(event -1 10)"
finds negative_dur '1 time' "$(event 1 -10)"
# The rules of times hold for every phase that has one.
of_phases() {   # NAME RULE TEXT EVENT [COUNT]: with each phase for PHASE
    events=$(event 1000 10)
    for i in $(seq 30); do events="$events,$(event "${i}100" 10)"; done
    for phase in i I n C s t f N D O R P T p v c B E b e S F X; do
        events="$events,$(echo "$4" | sed "s/PHASE/$phase/")"
    done
    printf '[%s]' "$events" >"$out/$1.json"
    says "validate_$1" "$3" 0 sh -c "'$prof' validate --limit all '$out/$1.json' | grep ' $2: '"
    try "validate_count_$1" test "$("$prof" validate --limit all "$out/$1.json" | grep -c " $2: ")" = "${5:-23}"
}
of_phases phases_no_ts fields 'has no ts' '{"ph":"PHASE","name":"n","cat":"c","id":1,"pid":1,"tid":1,"dur":1}'
of_phases phases_no_id fields 'has no id' '{"ph":"PHASE","name":"n","cat":"c","ts":5,"pid":1,"tid":1,"dur":1}' 10
of_phases phases_no_flow_id flow 'a flow without id' '{"ph":"PHASE","name":"n","cat":"c","ts":5,"pid":1,"tid":1,"dur":1}' 3
of_phases phases_other_id fields 'has no ts' '{"ph":"PHASE","name":"n","cat":"c","id2":{"local":1},"pid":1,"tid":1,"dur":1}'
of_phases phases_negative time 'has a ts below 0' '{"ph":"PHASE","name":"n","cat":"c","id":1,"pid":1,"tid":1,"ts":-5,"dur":1}'
of_phases phases_far far 'the first of 20 that begin or end a year' \
    '{"ph":"PHASE","name":"n","cat":"c","id":1,"pid":1,"tid":1,"ts":1450656000000000,"dur":1}' 1
finds one_far '73 far' "$(event 1000 10),{\"ph\":\"C\",\"name\":\"n\",\"pid\":1,\"ts\":1450656000000000}"
half() {   # PH NAME TS [MORE]
    printf '{"ph":"%s","cat":"c","name":"%s","pid":1,"tid":1,"ts":%s%s}' "$@"
}
finds pairs '' "$(half B a 1 ''),$(half b r 1 ',"id":1'),$(half E a 2 ''),$(half e r 3 ',"id":1')"
finds end_of_nothing '1 pairs' "$(half E a 1 ''),$(half B b 2 ''),$(half E b 3 '')"
finds no_end '1 pairs,56 pairs' "$(half B a 1 ''),$(half B b 2 ''),$(half B c 3 ''),$(half E c 4 '')"
finds other_range '1 pairs,63 pairs' "$(half b r 1 ',"id":1'),$(half e r 3 ',"id":2')"
finds text_pid '1 ids' "$(event 0 1 '"Spans"' 1)"
finds negative_tid '1 ids' "$(event 0 1 1 -3)"
finds large_tid '1 ids' "$(event 0 1 1 4294967296)"
finds nan '1 fields,1 number' "$(event 0 NaN)"
finds twice '1 keys' "$(event 0 1 1 1 ',"dur":2')"
finds half_character '1 text' '{"ph":"X","cat":"c","name":"\ud83d","pid":1,"tid":1,"ts":0,"dur":1}'
finds whole_character '' '{"ph":"X","cat":"c","name":"\ud83d\ude00","pid":1,"tid":1,"ts":0,"dur":1}'
finds comma '68 json' "$(event 0 1),"
finds overlap '70 overlap' "$(event 0 10),$(event 5 10)"
finds apart '' "$(event 0 10),$(event 10 10)"
finds order '1 order' "$(event 0 5),$(event 0 10)"
finds flow '' "$(event 0 5),{\"ph\":\"s\",\"id\":1,\"cat\":\"c\",\"ts\":0},{\"ph\":\"f\",\"id\":1,\"bp\":\"e\",\"cat\":\"c\",\"ts\":1}"
finds flow_no_start '1 flow' '{"ph":"f","id":1,"bp":"e","cat":"c","ts":1}'
finds flow_no_end '1 flow' '{"ph":"s","id":1,"cat":"c","ts":1}'
# Kineto's: an end at a call that launched nothing, and its own cost, of no process.
call='{"ph":"X","cat":"cuda_runtime","name":"cudaMalloc","pid":1,"tid":1,"ts":1,"dur":2,"args":{"correlation":7}}'
finds flow_at_call '' "$call,"'{"ph":"f","id":7,"bp":"e","cat":"ac2g","pid":1,"tid":1,"ts":1}'
finds flow_not_at_call '109 flow' "$call,"'{"ph":"f","id":7,"bp":"e","cat":"ac2g","pid":1,"tid":1,"ts":2}'
finds overhead_of_nobody '' '{"ph":"X","cat":"overhead","name":"Buffer Flush","pid":-1,"tid":0,"ts":1,"dur":2,"args":{}}'
finds flow_step '' "$(event 0 5),{\"ph\":\"s\",\"id\":1,\"cat\":\"c\",\"ts\":0},{\"ph\":\"t\",\"id\":1,\"cat\":\"c\",\"ts\":1}"
finds filler '' "$(event 0 5),{}"
finds flow_back '36 flow' '{"ph":"s","id":1,"cat":"c","ts":5},{"ph":"f","id":1,"bp":"e","cat":"c","ts":1}'
launch=$(gpu cuda_runtime cudaLaunchKernel 5 1 '"correlation":3')
finds launch '115 launch' "$launch,$(gpu kernel k 4 1 '"correlation":3')"
finds launch_later '' "$launch,$(gpu kernel k 6 1 '"correlation":3')"
finds wait_id '1 wait_id' "$(gpu cuda_sync 'Stream Wait Event' 5 0 '"wait_on_cuda_event_record_corr_id":-1')"
finds wait_past '1 wait_past' "$(gpu cuda_sync 'Stream Wait Event' 4 0 '"wait_on_cuda_event_record_corr_id":3'),$launch"
kernel=$(gpu kernel k 1 20 '"stream":7,"device":0')
finds sync '1 sync' "$(echo "$kernel" | sed 's/"tid":7/"tid":8/'),$(gpu cuda_sync 'Stream Sync' 5 4 '"stream":7,"device":0')"
finds collective '1 collective' "$(gpu kernel ncclDevKernel_AllReduce 5 1 '"Group size":2')"
back='autograd::engine::evaluate_function: MmBackward0'
finds backward '163 backward' "$(gpu cpu_op "$back" 5 1 '"Fwd thread id":1,"Sequence number":4'),$(gpu cpu_op "$back" 7 1 '"Fwd thread id":1,"Sequence number":4')"
finds forward_only '' "$(gpu cpu_op "$back" 5 1 '"Fwd thread id":0,"Sequence number":4'),$(gpu cpu_op "$back" 7 1 '"Fwd thread id":0,"Sequence number":4')"

now=tests/command/traces/kineto_2026.json
printf '[%s' "$(event 0 1)" >"$out/open_array.json"
printf '{"traceEvents":[%s' "$(event 0 1)" >"$out/cut.json"
says validate_good '0 errors, 0 warnings' 0 "$prof" validate "$out/good.json"
says validate_errors 'byte 1: error: time:' 1 "$prof" validate "$out/negative_ts.json"
says validate_warnings '0 errors, 1 warnings' 0 "$prof" validate "$out/overlap.json"
says validate_strict '0 errors, 1 warnings' 1 "$prof" validate --strict "$out/overlap.json"
says validate_ignore_no_rule "there is no rule 'overlaps'; --rules lists them" 2 "$prof" validate \
    --ignore flow,overlaps "$now"
says validate_ignore '0 errors, 0 warnings' 0 "$prof" validate --strict --ignore overlap \
    "$out/overlap.json"
says validate_rules 'wait_past' 0 "$prof" validate --rules
says validate_cut 'error: cut: the file ends early' 1 "$prof" validate "$out/cut.json"
says validate_kineto '0 errors' 0 "$prof" validate "$now"
says validate_stdin '0 errors' 0 "$prof" validate - <"$now"
says validate_limit '3 more of: ids' 0 "$prof" validate -n 1 tests/command/traces/kineto_2021.json
# Flows are compared by id: those shown are the first of the file all the same.
{ echo '{"traceEvents": ['
  for id in $(seq 50); do
      echo '{"ph": "f", "bp": "e", "cat": "a", "name": "a", "pid": 1, "tid": 1, "ts": 1, "id": '"$id},"
  done
  echo '{"ph": "i", "s": "t", "name": "a", "pid": 1, "tid": 1, "ts": 1}]}'; } >"$out/flows.json"
tells validate_limit_flows '47 more of: flow' 0 "$prof" validate -n 3 "$out/flows.json"
try validate_first_flows test "$(sed -n 's/.*: byte \([0-9]*\): .*not started/\1/p' "$out/said" |
    tr '\n' ' ')" = "$(grep -bo '{"ph": "f"' "$out/flows.json" | head -n 3 | cut -d: -f1 | tr '\n' ' ')"
says validate_no_json 'byte 0: this is no trace' 2 "$prof" validate README.md
exit $failed
