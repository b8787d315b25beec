# Shared by the scripts beside it: the options that Graphalytics passes, and the program: TRIMILL, else the one on the PATH.

# A failure within $(...) ends the script.
shopt -s inherit_errexit

trimill=$(command -v -- "${TRIMILL:-trimill}" || true)
declare -A given=()

fail() {
    echo "$(basename -- "$0"): $1" >&2
    exit 1
}

# Takes pairs of --NAME VALUE; the first argument lists the names.
options() {
    local names=" $1 "
    shift
    while [ $# -gt 0 ]; do
        [[ $names == *" ${1#--} "* && $1 == --* ]] || fail "the option '$1'; expected one of:${names//' '/ --}"
        [ $# -gt 1 ] || fail "$1 without a value"
        given[${1#--}]=$2
        shift 2
    done
    [ -n "$trimill" ] || fail "no program ${TRIMILL:-trimill}; put it on the PATH, or name it in TRIMILL"
}

needs() {
    local name
    for name in "$@"; do
        [ -n "${given[$name]:-}" ] || fail "--$name is missing"
    done
}
