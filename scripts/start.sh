#!/bin/sh
# npm start. The shell becomes the process that starts everything: no other stays in memory beside it. Decision 91.
scripts=$(dirname "$0")
# Told from the beginning: npm may be killed while this is on its way, and the new parent would look like the right one.
[ -z "$npm_lifecycle_event" ] || export MAYFLY_PARENT="$PPID"
node=$(node "$scripts/prepare.mjs") || exit $?
export NODE_COMPILE_CACHE="${NODE_COMPILE_CACHE:-$scripts/../.cache/compiled}"
exec "$node" --max-semi-space-size=1 --expose-gc "$scripts/start.ts" "$@"
