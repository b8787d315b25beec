#!/usr/bin/env bash
# Ends a job that execute-job.sh began.
#
#     terminate-job.sh --job-id ID --log-path DIR
set -euo pipefail
source "$(dirname -- "$(readlink -f -- "${BASH_SOURCE[0]}")")/common.sh"

options "job-id log-path" "$@"
needs log-path
pid=${given[log-path]}/executable.pid
[ -f "$pid" ] || exit 0
# The process id may be that of another program by now.
if [ "$(readlink -f -- "/proc/$(cat -- "$pid")/exe" 2> /dev/null)" = "$(readlink -f -- "$trimill")" ]; then
    kill -- "$(cat -- "$pid")"
fi
