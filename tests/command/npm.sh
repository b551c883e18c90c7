# shellcheck shell=sh
# For tests that take programs from npm: sourced, in the repository's root. Their own scripts are not run.
#   package NAME@VERSION     its folder is $npm/node_modules/NAME; false: npm cannot be reached
npm=$PWD/build/viewers/npm

package() {   # NAME@VERSION
    folder=$npm/node_modules/${1%@*}
    [ -d "$folder" ] && return
    rm -rf "$folder.new"
    mkdir -p "$folder.new"
    (cd "$folder.new" && timeout 200 npm pack --silent --ignore-scripts "$1" >/dev/null 2>&1 &&
        tar xzf ./*.tgz && rm -f ./*.tgz) && mv "$folder.new/package" "$folder"
    status=$?
    rm -rf "$folder.new"
    return $status
}
