#!/usr/bin/env bash
# Loads a graph of LDBC Graphalytics for trimill: cleans and orients it once, into a cache beside links to its files.
#
#     load-graph.sh --graph-name NAME --input-vertex-path FILE.v --input-edge-path FILE.e --output-path DIR
#         --directed true|false [--weighted true|false]
set -euo pipefail
source "$(dirname -- "$(readlink -f -- "${BASH_SOURCE[0]}")")/common.sh"

options "graph-name input-vertex-path input-edge-path output-path directed weighted" "$@"
needs input-vertex-path input-edge-path output-path directed
dir=${given[output-path]}
mkdir -p -- "$dir"

# link FILE NAME: links to a file, and prints the link's name, with the suffix of a compressed file.
link() {
    local suffix
    case $1 in
    *.gz | *.zst | *.zstd | *.bz2) suffix=.${1##*.} ;;
    *) suffix= ;;
    esac
    ln -sfn -- "$(readlink -f -- "$1")" "$dir/$2$suffix"
    echo "$2$suffix"
}
vertices=$(link "${given[input-vertex-path]}" graph.v)
edges=$(link "${given[input-edge-path]}" graph.e)
cat > "$dir/graph.properties" <<END
# Written by trimill's load-graph.sh.
graph.graph.vertex-file = $vertices
graph.graph.edge-file = $edges
graph.graph.directed = ${given[directed]}
END
# Planning puts the prepared graph into the cache.
"$trimill" plan "$dir/graph" --cache-dir "$dir/cache" --work-dir "$dir" --quiet > "$dir/plan.txt"
if [ "${given[directed]}" = true ]; then
    # Counting also puts the doubled graph there, in which directions are counted.
    "$trimill" count "$dir/graph" --cache-dir "$dir/cache" --work-dir "$dir" --lcc "$dir/lcc.txt" --force --json --quiet > /dev/null
    rm -f -- "$dir/lcc.txt"
fi
