CC = gcc
CXX = g++
PREFIX = /usr/local
# What a compiler newer than this code warns of stops no user's build: tests add -Werror (tests/build.sh).
WARN = -Wall -Wextra -Wpedantic -Wshadow -Wconversion
CFLAGS = -std=c99 -O2 $(WARN)
CXXFLAGS = -std=c++11 -O2 $(WARN) -Wold-style-cast
LIBS = -lpthread -ldl -lm

# A recipe is told in one line a step; V=1 shows its commands instead, make -s neither.
Q = $(if $(V),,@)
say = $(if $(V)$(findstring s,$(firstword -$(MAKEFLAGS))),,@echo '$(1)')

# What tools/dev/setup.sh installs when it is missing. Without the optional ones tests are skipped.
BUILD_NEEDS = gcc libc6-dev
TOOL_NEEDS = $(BUILD_NEEDS) zlib1g-dev libsqlite3-dev
TOOL_OPTIONS = libisal-dev
EXAMPLE_NEEDS = $(BUILD_NEEDS) g++
TEST_NEEDS = $(EXAMPLE_NEEDS) $(TOOL_NEEDS) clang python3 libyajl-dev
TEST_OPTIONS = $(TOOL_OPTIONS) opencl-headers ocl-icd-opencl-dev pocl-opencl-icd libvulkan-dev mesa-vulkan-drivers libstb-dev tcc libclang-rt-dev shellcheck spin \
               gcc-mingw-w64-x86-64-win32 g++-mingw-w64-x86-64-win32 g++-mingw-w64-x86-64-posix \
               libz-mingw-w64-dev wine64 wasi-libc libclang-rt-dev-wasm32 emscripten nodejs npm \
               gcc-aarch64-linux-gnu libc6-dev-arm64-cross qemu-user-static \
               git pkg-config cmake meson ninja-build valgrind
EMBEDDED_OPTIONS = python3 g++ clang tcc musl-tools gcc-arm-none-eabi qemu-system-arm \
                   gcc-riscv64-unknown-elf qemu-system-misc qemu-user-static \
                   gcc-aarch64-linux-gnu libc6-dev-arm64-cross \
                   gcc-arm-linux-gnueabihf libc6-dev-armhf-cross \
                   gcc-i686-linux-gnu libc6-dev-i386-cross \
                   gcc-riscv64-linux-gnu libc6-dev-riscv64-cross \
                   gcc-s390x-linux-gnu libc6-dev-s390x-cross gcc-mingw-w64-x86-64-win32 wine64

EXAMPLES = hello hello_cpp threads fibers details schedule observers execution stacks counters switches \
           outside train images crash stream coroutines device/npu

# In the images example every function of stb is a zone, but the helpers called for each pixel or byte.
PER_PIXEL = paeth zlib_countm zlib_flushf zlib_bitrev zhash zeof zget8 zhuffman fill_bits zreceive \
            sbgrow Bits get_bit get8 jpeg_huff grow_buffer extend_receive stbir__edge \
            stbir__saturate stbir__use stbir__support stbir__get stbir__filter
comma = ,
PER_PIXEL_LIST = $(subst $() $(),$(comma),$(strip $(PER_PIXEL)))
INSTRUMENT_gcc = -finstrument-functions-exclude-function-list=$(PER_PIXEL_LIST)
INSTRUMENT_clang = -finstrument-functions-after-inlining
INSTRUMENT = -finstrument-functions $(INSTRUMENT_$(if $(findstring clang,$(CC)),clang,gcc))

# Of CUDA's toolkit
CUDA_HOME = /usr/local/cuda
NVCC = $(firstword $(wildcard $(CUDA_HOME)/bin/nvcc) $(shell command -v nvcc))
CUDA_PROGRAMS = build/examples/cuda/vector_add build/examples/cuda/gemm_chain build/cuda_acceptance

CPU = $(or $(shell sed -n 's/^model name[^:]*: //p;T;q' /proc/cpuinfo),$(shell uname -m))

# The prof command. Tests build another, with less effort, static and without isa-l, into a folder of their own (tests/build.sh).
TOOLS = build/tools
COMMAND = build/prof
TOOL_FLAGS = -fwrapv -DPROF_ARENA_SIZE=8192 -D_POSIX_C_SOURCE=200809L -D_FILE_OFFSET_BITS=64 -DPROF_ZLIB
ISAL = $(shell echo '\#include <isa-l/igzip_lib.h>' | $(CC) -E - >/dev/null 2>&1 && echo 1)
TOOL_LIBS = -lsqlite3 -lz $(if $(ISAL),-lisal)
$(TOOLS)/input/unpack.o: TOOL_FLAGS += $(if $(ISAL),-DPROF_ISAL)
TOOL_SOURCES = $(wildcard tools/prof/*.c tools/prof/*/*.c)
TOOL_OBJECTS = $(TOOL_SOURCES:tools/prof/%.c=$(TOOLS)/%.o)
READER_OBJECTS = $(filter $(TOOLS)/base/% $(TOOLS)/input/%, $(TOOL_OBJECTS))
PAGE_PARTS = $(wildcard tools/prof/page/*.html tools/prof/page/*.css tools/prof/page/*.js)
TOOL_PAGES = $(addprefix $(TOOLS)/, report_html.h flamegraph_css.h flamegraph_js.h report_sql.h heap_so.h)

.PHONY: help prof demo examples pictures cuda check_layout test test-all nightly test-viewers real coverage fuzz mutants compare proof soak storm trust analysis \
        bench bench-compile embedded size lint install install-header clean setup-build setup-examples setup-test setup-tool setup-embedded setup-proof setup-bench \
        setup-layout setup-analysis setup-viewers setup-pictures

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z_-]+:.*## / { printf "make %-14s %s\n", $$1, $$2 }' Makefile

prof: build/prof ## build the prof command, build/prof

cuda: ## build the examples for NVIDIA GPUs, and the acceptance program, where nvcc is there
	@if [ -x "$(NVCC)" ]; then $(MAKE) -s $(CUDA_PROGRAMS); \
	else echo 'cuda: skipped, it needs nvcc (CUDA_HOME, or in PATH)'; fi

check_layout: setup-layout ## compare prof_cuda.h's mirror of CUPTI's records with every cupti.h that is there
	@for root in $$(realpath -qe $(CUDA_HOME) /usr/local/cuda-* /usr | sort -u); do \
	    [ -f $$root/include/cupti.h ] || [ -f $$root/extras/CUPTI/include/cupti.h ] || continue; \
	    echo '#include <cuda.h>' | $(CC) -E -dM -I$$root/include - | sed -n "s|#define CUDA_VERSION|check_layout: $$root, CUDA|p"; \
	    $(CC) -std=gnu11 -I. -isystem $$root/include -isystem $$root/extras/CUPTI/include \
	        -fsyntax-only tests/cuda/check_layout.c || exit 1; \
	    found=1; \
	done; \
	[ "$$found" ] || echo 'check_layout: skipped, there is no cupti.h in CUDA_HOME, /usr/local/cuda*, /usr/include'

demo: build/examples/train ## profile the training of a small network: a table, a timeline
	@mkdir -p build/demo
	$(call say,running build/examples/train)
	$(Q)build/examples/train build/demo

examples: $(EXAMPLES:%=build/examples/%) ## build the examples

pictures: setup-pictures build/prof build/examples/train build/examples/images ## make README's pictures again, in headless Chromium
	@sh tools/dev/pictures.sh

test: setup-test ## run every suite in minutes; the last line counts tests (ONLY="words": one in the name; COSTS=1)
	@sh tests/run.sh $(ONLY)

test-all: setup-test ## run every suite with every compiler, sanitizer and system
	@sh tests/run.sh $(if $(REST),--rest,--all) $(ONLY)

nightly: setup-proof setup-analysis ## what takes hours: soak, long stress, storm and fuzz, valgrind and all analyses, mutants, proof.c
	@sh tests/nightly.sh

test-viewers: setup-viewers ## traces in Perfetto, speedscope, pprof, SQL engines, pages in Chromium; skipped without
	@sh tests/write/viewers.sh

bench: setup-bench build/bench build/bench_functions build/bench_old/build/bench build/prof ## measure what it all costs, into build/bench.json (PEERS=folder: other profilers beside)
	build/bench build/bench.json "$(CPU)"
	@if [ -n "$(PEERS)" ]; then sh tools/dev/peers.sh "$(PEERS)"; fi

bench-compile: build/bench build/bench_old/build/bench ## measure what compiling costs, into build/bench_compile.json
	build/bench --compile build/bench_compile.json "$(CPU)"

real: setup-test ## Lua, zstd, SQLite from Debian's sources, profiled: are all calls in the table? (ONLY=lua)
	@sh tests/real/real.sh $(ONLY)

coverage: setup-test ## lines and branches that the tests run, into build/trust.json
	@sh tests/coverage.sh

analysis: setup-analysis ## minutes of gcc's analyzer, cppcheck, MemorySanitizer, valgrind, clang's every warning
	@SLOW=1 PARTS="$(ONLY)" sh tests/test_analysis.sh

proof: setup-proof ## Frama-C's Eva shows parts of prof.h free of run-time errors (optional)
	@sh tests/model/proof.sh

soak: build/tests/soak ## long runs in flat memory (ZONES=1000000000), into build/trust.json
	build/tests/soak $(ZONES) | tee build/soak.txt
	@! grep '^not ok' build/soak.txt
	@sh tests/trust.sh soak_zones $$(sed -n 's/^\([0-9]*\) zones$$/\1/p' build/soak.txt)

storm: build/prof ## ends each command that writes at 1000 random moments (RUNS): output whole or old, nothing left
	@STORM=$(or $(RUNS),1000) TIMEOUT=20000 sh tests/run.sh $(or $(ONLY),test_prof_outputs test_prof_record_files)

stress: setup-test ## eight threads do everything at once, REPEATS=100 times; a tenth of it with TSan. YIELD=1: 2000 times, each lets others run in the middle
ifdef YIELD
	@mkdir -p build/tests
	gcc -std=c99 -O1 -DTEST_YIELD -DPROF_ASSERTS -I. tests/record/test_stress.c -o build/tests/stress_yield -lpthread -ldl -lm
	@REPEATS=$(or $(REPEATS),2000) build/tests/stress_yield | tail -3
else
	@TIMEOUT=3000 REPEATS=$(or $(REPEATS),100) sh tests/run.sh gcc/test_stress
	@TIMEOUT=3000 REPEATS=$$(($(or $(REPEATS),100) / 10)) sh tests/run.sh tsan/test_stress
endif

fuzz: setup-test ## every fuzz target for SECONDS=20 each, into build/trust.json
	@FUZZ_SECONDS=$(SECONDS) sh tests/fuzz/fuzz.sh $(ONLY)

mutants: setup-test ## do tests notice COUNT=150 changes of prof.h (SEED=1)? into build/trust.json
	@python3 tests/mutate.py "$(COUNT)" $(SEED)

compare: build/prof ## do answers differ from those of OLD=29a0f05? 200 scripts (SEEDS=200 FIRST=1), real traces
	@python3 tools/dev/compare/compare.py $(or $(OLD),29a0f05) $(or $(SEEDS),200) $(or $(FIRST),1) $(CASE)

trust: coverage fuzz mutants soak ## what build/trust.json tells, all of it

embedded: setup-embedded build/prof ## run examples/baremetal on all targets under emulators, compare the output
	@sh tools/dev/embedded.sh $(ONLY)

size: setup-embedded ## measure bytes and instructions on microcontrollers, into build/size.json
	@sh tools/dev/size.sh build/size.json

lint: ## check line and function lengths, the room index, the scripts, that users' code compiles clean
	@sh tools/dev/lint.sh
	@sh tests/target/test_clean.sh

install: install-header $(COMMAND) ## install prof.h, its pkg-config and CMake files, prof, its manual: PREFIX (/usr/local), DESTDIR
	install -d -m 755 "$(DESTDIR)$(PREFIX)/bin" "$(DESTDIR)$(PREFIX)/share/man/man1" \
	    "$(DESTDIR)$(PREFIX)/share/bash-completion/completions" "$(DESTDIR)$(PREFIX)/share/prof/sql"
	install -m 644 tools/prof/sql/* "$(DESTDIR)$(PREFIX)/share/prof/sql"
	install -m 755 $(COMMAND) "$(DESTDIR)$(PREFIX)/bin/prof"
	sh tools/prof/man.sh $(COMMAND) > build/prof.1
	install -m 644 build/prof.1 "$(DESTDIR)$(PREFIX)/share/man/man1"
	install -m 644 tools/prof/completion.bash \
	    "$(DESTDIR)$(PREFIX)/share/bash-completion/completions/prof"

install-header: ## the same without the command and its manual: needs no library
	@mkdir -p build
	install -d -m 755 "$(DESTDIR)$(PREFIX)/include" "$(DESTDIR)$(PREFIX)/lib/pkgconfig" \
	    "$(DESTDIR)$(PREFIX)/lib/cmake/prof"
	install -m 644 prof.h prof_cuda.h "$(DESTDIR)$(PREFIX)/include"
	install -m 644 tools/cmake/prof-config.cmake tools/cmake/prof-config-version.cmake \
	    "$(DESTDIR)$(PREFIX)/lib/cmake/prof"
	version=$$(sed -n 's/^#define PROF_VERSION "\(.*\)"/\1/p' prof.h); \
	sed -e "s|@PREFIX@|$(PREFIX)|" -e "s|@VERSION@|$$version|" tools/prof.pc.in > build/prof.pc
	install -m 644 build/prof.pc "$(DESTDIR)$(PREFIX)/lib/pkgconfig"

clean: ## remove build/
	rm -rf build

setup-build: ; @sh tools/dev/setup.sh $(BUILD_NEEDS)
setup-tool: ; @sh tools/dev/setup.sh $(TOOL_NEEDS) --optional $(TOOL_OPTIONS)
setup-examples: ; @sh tools/dev/setup.sh $(EXAMPLE_NEEDS) --optional libstb-dev
setup-layout: ; @sh tools/dev/setup.sh $(BUILD_NEEDS) --optional libcupti-dev nvidia-cuda-dev
setup-analysis: setup-test ; @sh tools/dev/setup.sh $(BUILD_NEEDS) --optional cppcheck valgrind
setup-viewers: setup-examples setup-tool ; @sh tools/dev/setup.sh $(BUILD_NEEDS) --optional nodejs npm python3 chromium golang-go sqlite3
setup-pictures: setup-examples setup-tool ; @sh tools/dev/setup.sh $(BUILD_NEEDS) --optional nodejs chromium libstb-dev gcc-arm-none-eabi qemu-system-arm
setup-bench: ; @sh tools/dev/setup.sh $(BUILD_NEEDS) --optional valgrind
setup-proof: ; @sh tools/dev/setup.sh $(BUILD_NEEDS) --optional frama-c-base
setup-embedded: ; @sh tools/dev/setup.sh $(BUILD_NEEDS) --optional $(EMBEDDED_OPTIONS)
setup-test: ; @sh tools/dev/setup.sh $(TEST_NEEDS) --optional $(TEST_OPTIONS)

# The implementation, once; hello, which newcomers copy whole, and images have their own.
build/examples/prof.o: examples/prof.c prof.h Makefile | setup-build
	$(call say,compiling prof.h)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(CFLAGS) -I. -c $< -o $@

build/examples/%: examples/%.c build/examples/prof.o prof.h Makefile | setup-build
	$(call say,compiling $<)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(CFLAGS) -I. $< build/examples/prof.o -o $@ $(LIBS)
build/examples/device/npu: examples/device/npu.h

build/examples/hello: examples/hello.c prof.h Makefile | setup-build
	$(call say,compiling $< and prof.h)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(CFLAGS) -I. $< -o $@ $(LIBS)

build/examples/hello_cpp: examples/hello.cpp prof.h Makefile | setup-examples
	$(call say,compiling $< and prof.h)
	$(Q)mkdir -p $(@D)
	$(Q)$(CXX) $(CXXFLAGS) -I. $< -o $@ $(LIBS)

build/examples/coroutines: examples/coroutines.cpp build/examples/prof.o prof.h Makefile | setup-examples
	$(call say,compiling $<)
	$(Q)if echo '#include <coroutine>' | $(CXX) -std=c++20 -x c++ -fsyntax-only - >/dev/null 2>&1; then \
	    $(CXX) $(CXXFLAGS) -std=c++20 -I. $< build/examples/prof.o -o $@ $(LIBS); \
	else echo 'coroutines: skipped, it needs a compiler with the coroutines of C++20'; fi

build/examples/images: examples/images.c prof.h Makefile | setup-examples
	$(call say,compiling $< and prof.h with all functions as zones)
	$(Q)mkdir -p $(@D)
	$(Q)if echo '#include <stb/stb_image.h>' | $(CC) -E - >/dev/null 2>&1; then \
	    $(CC) $(CFLAGS) $(INSTRUMENT) -I. $< -o $@ $(LIBS); \
	else echo 'images: skipped, it needs stb/stb_image.h (Debian: libstb-dev)'; fi

build/tests/prof.o: tests/prof.c tests/cuda/prof_cuda.c $(wildcard tools/prof/library.*) tools/prof/raw_read.h prof.h prof_cuda.h Makefile | setup-test
	$(call say,compiling prof.h for tests)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(CFLAGS) -I. -c $< -o $@

LIBRARY = build/tests/prof.o
build/tests/replay: tests/analyse/replay.c $(LIBRARY) $(READER_OBJECTS) prof.h Makefile | setup-test
	$(call say,compiling $<)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(CFLAGS) -I. -Itools/prof $< $(LIBRARY) $(READER_OBJECTS) -o $@ -lyajl $(TOOL_LIBS) -lstdc++ $(LIBS)

build/tests/soak: tests/record/soak.c tests/test.h prof.h Makefile | setup-build
	$(call say,compiling $< and prof.h)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(CFLAGS) -DPROF_ASSERTS -I. $< -o $@ $(LIBS)

build/examples/cuda/%: examples/cuda/%.cu prof.h prof_cuda.h Makefile
	$(call say,compiling $<)
	$(Q)mkdir -p $(@D)
	$(Q)$(NVCC) -O2 -std=c++17 -I. $< -o $@

build/cuda_acceptance: tools/dev/cuda_acceptance.cu prof.h prof_cuda.h Makefile
	$(call say,compiling $<)
	$(Q)mkdir -p $(@D)
	$(Q)$(NVCC) -O2 -std=c++17 -I. $< -o $@

FAKE_CUPTI = tests/cuda/fake_cupti.c
build/bench: tools/dev/bench.c $(FAKE_CUPTI) $(FAKE_CUPTI:.c=.h) prof.h prof_cuda.h Makefile | setup-build
	$(call say,compiling $< and prof.h)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(CFLAGS) -I. -Itests/cuda $< $(FAKE_CUPTI) -o $@ $(LIBS)

build/bench_functions: tools/dev/bench_functions.c prof.h Makefile | setup-build
	$(call say,compiling $< and prof.h)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(CFLAGS) -finstrument-functions -I. $< -o $@ $(LIBS)

# The same of the commit that "the old one" means, and its command; without git's history there is none.
BENCH_OLD = 29a0f05
OLD_FOLDER = build/bench_old
$(OLD_FOLDER)/build/bench: tools/dev/bench.c tools/dev/bench_functions.c Makefile | setup-tool
	$(call say,compiling $< and the command of $(BENCH_OLD))
	$(Q)mkdir -p $(OLD_FOLDER)
	$(Q)if git archive $(BENCH_OLD) prof.h prof_cuda.h Makefile tools tests/cuda 2>/dev/null | tar x -C $(OLD_FOLDER) 2>/dev/null; then \
	    SETUP=check $(MAKE) -s -C $(OLD_FOLDER) build/prof && \
	    $(CC) $(CFLAGS) -finstrument-functions -I$(OLD_FOLDER) tools/dev/bench_functions.c -o $(@D)/bench_functions $(LIBS) && \
	    $(CC) $(CFLAGS) -DBENCH_OLD -I$(OLD_FOLDER) -I$(OLD_FOLDER)/tests/cuda $< $(OLD_FOLDER)/$(FAKE_CUPTI) -o $@ $(LIBS); \
	else rm -r $(OLD_FOLDER); fi

.SECONDARY: $(TOOL_PAGES)

# A page as lines of C; a line @NAME.js@ or @NAME.css@ is that file of tools/prof/page.
define embed
	$(Q)mkdir -p $(@D)
	$(Q)awk '/^@[a-z_]+\.(js|css)@$$/ { file = "tools/prof/page/" substr($$0, 2, length($$0) - 2); \
	    while ((getline line < file) > 0) print line; next } { print }' $< | \
	    sed 's/[\\"]/\\&/g; s/.*/"&\\n",/' > $@
endef
$(TOOLS)/%_html.h: tools/prof/page/%.html $(PAGE_PARTS) Makefile ; $(embed)
$(TOOLS)/%_css.h: tools/prof/page/%.css $(PAGE_PARTS) Makefile ; $(embed)
$(TOOLS)/%_js.h: tools/prof/page/%.js $(PAGE_PARTS) Makefile ; $(embed)
$(TOOLS)/%_sql.h: tools/prof/sql/%.sql Makefile ; $(embed)
# What prof record --heap preloads, as numbers; none where the compiler makes no shared libraries.
$(TOOLS)/heap_so.h: examples/heap/heap.c prof.h Makefile
	$(Q)mkdir -p $(@D)
	$(Q)if $(CC) -std=c99 -O2 -fPIC -shared -s -DHEAP_PRELOAD -I. $< -o $(@:.h=.so) -ldl 2>/dev/null; \
	    then od -An -v -tu1 $(@:.h=.so) | sed 's/[0-9]\{1,\}/&,/g' > $@; else echo 0 > $@; fi
$(TOOLS)/report_html.h: | $(filter-out $(TOOLS)/report_html.h, $(TOOL_PAGES))

$(addprefix $(TOOLS)/, page/report_page.o commands/cmd_flamegraph.o commands/cmd_record.o output/table_sqlite.o): $(TOOL_PAGES)
$(TOOLS)/%.o: tools/prof/%.c $(wildcard tools/prof/*.h tools/prof/*/*.h) prof.h Makefile | setup-tool
	$(call say,compiling $<)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(CFLAGS) $(TOOL_FLAGS) -I. -Itools/prof -I$(TOOLS) -c $< -o $@

$(COMMAND): $(TOOL_OBJECTS)
	$(call say,linking $@)
	$(Q)$(CC) $(TOOL_OBJECTS) -o $@ $(TOOL_LIBS) $(LIBS)
