#!/bin/sh
# The descriptions in tools/packages: the fields that their schemas ask for, the version of prof.h,
# and that each leads to prof.h. CMake's files run with stand-ins for Zephyr and ESP-IDF.
# shellcheck disable=SC2317   # check calls functions
set -u
cd "$(dirname "$0")/../.." || exit 1

# shellcheck source=tests/build.sh
. tests/build.sh
out=$tests_out/test_packages.dir
failed=0
mkdir -p "$out"
packages=$PWD/tools/packages
version=$(sed -n 's/^#define PROF_VERSION "\(.*\)"$/\1/p' prof.h)

lines() {   # FILE TEXT...: each is a line of it
    file=$1
    shift
    for text; do grep -qxF -- "$text" "$file" || { echo "$file: no line '$text'"; return 1; }; done
}
library_json() {
    python3 - "$packages/platformio/library.json" "$version" <<'END'
import json, os, re, sys
path, version = sys.argv[1:]
d = json.load(open(path))
assert re.fullmatch(r"[\w.+-]{1,100}", d["name"]) and d["version"] == version, "name, version"
for field in "description", "keywords", "license", "frameworks", "platforms":
    assert isinstance(d[field], str) and d[field], field
assert all(author["name"] for author in d["authors"]), "authors"
assert d["repository"]["type"] == "git" and d["repository"]["url"].endswith(".git"), "repository"
folder = os.path.join(os.path.dirname(path), d["build"]["includeDir"])
assert os.path.isfile(os.path.join(folder, d["headers"])), "headers"
END
}
pdsc() {
    python3 - "$packages/cmsis/prof.prof.pdsc" "$version" <<'END'
import os, sys
import xml.etree.ElementTree as tree
path, version = sys.argv[1:]
top = tree.parse(path).getroot()
assert top.tag == "package" and top.get("schemaVersion"), "package"
order = ["vendor", "name", "description", "url", "license", "releases", "components"]
assert [e.tag for e in top] == order and all(e.text for e in top), "what a package has, in its order"
assert os.path.basename(path) == "%s.%s.pdsc" % (top.find("vendor").text, top.find("name").text), "file"
assert top.find("url").text.endswith("/"), "url"
release = top.find("releases/release")
assert release.get("version") == version and release.get("date"), "release"
for c in top.findall("components/component"):
    assert c.get("Cclass") and c.get("Cgroup") and c.get("Cversion") == version, "component"
    assert c.find("description").text, "a component's description"
    files = [f.get("name") for f in c.findall("files/file")]
    assert files and all(os.path.isfile(f) for f in files + [top.find("license").text]), "files"
END
}
modules() {
    lines "$packages/zephyr/module.yml" 'name: prof' build: '  cmake: zephyr' \
        '  kconfig: zephyr/Kconfig' && [ -f "$packages/zephyr/Kconfig" ] &&
        grep -q '^config PROF$' "$packages/zephyr/Kconfig"
}
component() { lines "$packages/esp-idf/prof/idf_component.yml" "version: \"$version\"" 'license: MIT-0'; }
cat >"$out/zephyr.cmake" <<'END'
function(zephyr_include_directories folder)
  if(NOT EXISTS ${folder}/prof.h)
    message(FATAL_ERROR "no ${folder}/prof.h")
  endif()
  message("found")
endfunction()
function(zephyr_compile_definitions)
endfunction()
set(CONFIG_PROF y)
include(${PACKAGES}/zephyr/CMakeLists.txt)
END
cat >"$out/esp.cmake" <<'END'
function(idf_component_register what folder)
  if(NOT what STREQUAL INCLUDE_DIRS OR NOT EXISTS ${PACKAGES}/esp-idf/prof/${folder}/prof.h)
    message(FATAL_ERROR "no ${folder}/prof.h")
  endif()
  message("found")
endfunction()
function(target_compile_definitions)
endfunction()
include(${PACKAGES}/esp-idf/prof/CMakeLists.txt)
END
leads() { cmake "-DPACKAGES=$packages" -P "$out/$1.cmake" 2>&1 | grep -x found; }

check 'library.json of PlatformIO' library_json
check 'pdsc of CMSIS-Pack' pdsc
check 'module.yml of Zephyr' modules
check 'idf_component.yml of ESP-IDF' component
if command -v cmake >/dev/null; then
    check 'the module leads to prof.h' leads zephyr
    check 'the component leads to prof.h' leads esp
else
    echo 'skip CMake: it is not installed'
fi
exit $failed
