# Marks functions by hand: PROF_FUNCTION() at the begin of each one that NAMES has.
BEGIN { n = split(NAMES, names, " ") }
/^[A-Za-z_]/ {
    head = 0
    for (i = 1; i <= n; i++) if ($0 ~ "(^|[^A-Za-z0-9_])" names[i] " *\\(") head = 1
}
{ print }
/;/ { head = 0 }
head && /\{ *$/ { print "PROF_FUNCTION();"; head = 0 }
