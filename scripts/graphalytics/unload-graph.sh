#!/usr/bin/env bash
# Removes what load-graph.sh made; the graph's own files stay.
#
#     unload-graph.sh --graph-name NAME --output-path DIR
set -euo pipefail
source "$(dirname -- "$(readlink -f -- "${BASH_SOURCE[0]}")")/common.sh"

options "graph-name output-path" "$@"
needs output-path
dir=${given[output-path]}
head -n 1 -- "$dir/graph.properties" 2> /dev/null | grep -q "trimill's load-graph.sh" || fail "$dir: no graph that load-graph.sh loaded"
rm -rf -- "$dir/cache"
rm -f -- "$dir"/graph.{v,e}{,.gz,.zst,.zstd,.bz2} "$dir/graph.properties" "$dir/plan.txt"
rmdir --ignore-fail-on-non-empty -- "$dir"
