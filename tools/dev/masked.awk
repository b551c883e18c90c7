# The longest stretches with interrupts masked: in a log of QEMU with -singlestep -d exec,nochain, a
# line for each instruction. -v mask= and -v unmask= hold the addresses of the instructions that
# mask, and give back what was before. Prints for each function call_NAME of the log "COUNT NAME".
BEGIN {
    for (i = split(mask, list, " "); i; i--) masks[list[i]]
    for (i = split(unmask, list, " "); i; i--) unmasks[list[i]]
}
/^Trace/ {
    split($4, part, "/")
    at = part[2]
    if ($5 ~ /^call_/) name = substr($5, 6)
    n++
    if (at in masks && depth && at != first) depth++
    else if (at in masks) {              # again: QEMU had begun it, and let an interrupt in first
        first = at
        depth = 1
        n = 0
    }
    if (at in unmasks && depth && !--depth && n > most[name]) most[name] = n
}
/^ended / && $2 { failed = 1 }
END {
    for (name in most) print most[name], name
    exit failed || depth
}
