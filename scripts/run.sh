#!/bin/sh
# Every command of the project: sh scripts/run.sh [options of Node] scripts/<command>.ts [arguments]
# Gets what is missing. Then the shell becomes the command, and no other process stays in memory beside it. Decision
# one-waiting-process.
scripts=$(cd "$(dirname "$0")" && pwd)
# Told from the beginning: npm may be killed while this is on its way, and the new parent would look like the right one.
[ -z "$npm_lifecycle_event" ] || export MAYFLY_PARENT="$PPID"
node=$(node "$scripts/prepare.mjs") || exit $?
export PATH="${node%/*}:$PATH"
# Compiled code is kept for the next start: quicker, and less memory, since nothing is stripped of its types again.
export NODE_COMPILE_CACHE="${NODE_COMPILE_CACHE:-${scripts%/*}/.cache/compiled}"
exec "$node" "$@"
