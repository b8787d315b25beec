#!/usr/bin/env bash
# Computes the local clustering coefficients (algorithm `lcc`) of a graph that load-graph.sh loaded.
#
#     execute-job.sh --job-id ID --log-path DIR --algorithm lcc --input-dir DIR --output-file FILE [--num-threads N]
#
# Writes `id value` for each vertex to FILE, and prints two lines with milliseconds since 1970, from which the benchmark takes the
# processing time: that of counting (by direction, if the graph is directed), without reading the prepared graph and writing FILE.
set -euo pipefail
source "$(dirname -- "$(readlink -f -- "${BASH_SOURCE[0]}")")/common.sh"

options "job-id log-path algorithm source-vertex max-iteration damping-factor input-dir output-file num-threads directed" "$@"
needs log-path algorithm input-dir output-file
[ "${given[algorithm]}" = lcc ] || fail "the algorithm ${given[algorithm]}; expected lcc, which is all that trimill computes of Graphalytics"
dir=${given[input-dir]} log=${given[log-path]}
mkdir -p -- "$log" "$(dirname -- "${given[output-file]}")"
threads=()
[ -z "${given[num-threads]:-}" ] || threads=(--threads "${given[num-threads]}")

"$trimill" count "$dir/graph" --cache-dir "$dir/cache" --work-dir "$dir" --lcc "${given[output-file]}" --force --json --quiet \
    ${threads[@]+"${threads[@]}"} > "$log/result.json" &
job=$!
echo "$job" > "$log/executable.pid"
wait "$job" || fail "trimill ended with code $?; it printed why"
python3 - "$log/result.json" <<'END'
import json, sys, time

stages = json.load(open(sys.argv[1]))["stages"]
# Other stages overlap these, prepare the graph, or write FILE.
seconds = sum(stage["seconds"] for stage in stages if stage["name"] in ("count", "directions"))
end = int(time.time() * 1000)
print(f"Processing starts at: {end - round(seconds * 1000)}")
print(f"Processing ends at: {end}")
END
