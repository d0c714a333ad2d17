#!/bin/sh
# sh deploy/compose/upgrade.sh: brings the tables up to date, and then puts a new container in the place of each one of Mayfly, one after the other.
# An old one is asked to stop when the new one is ready, and finishes what it has. One that does not get ready is removed again, and that is the
# end of it: the old ones go on. The image is there before: docker compose build, or docker compose pull. docs/operations.md, Upgrade.
set -eu
cd "$(dirname "$0")/../.."

# One more container of a service, of the new version; none when it does not get ready.
add() {
  before=$(docker compose ps --all --quiet "$1")
  count=$(docker compose ps --quiet "$1" | wc -l)
  docker compose up --detach --no-deps --no-recreate --wait --scale "$1=$((count + 1))" "$1" && return
  for container in $(docker compose ps --all --quiet "$1"); do
    case $before in *"$container"*) continue ;; esac
    docker logs --tail 20 "$container"
    docker rm --force "$container"
  done
  echo "$1: the new version does not get ready; the old one goes on" >&2
  exit 1
}

docker compose run --rm --no-deps migrate

for service in files notes gateway; do
  old=$(docker compose ps --quiet "$service")
  if [ "$service" = gateway ] && [ "$(echo "$old" | wc -l)" -eq 1 ]; then
    # It alone has the published port, so there cannot be another beside it: two-gateways.yaml.
    docker compose up --detach --no-deps --wait gateway
    continue
  fi
  for container in $old; do
    add "$service"
    docker stop "$container" > /dev/null
    echo "$service: $container has ended with $(docker inspect --format '{{.State.ExitCode}}' "$container")"
    docker rm "$container" > /dev/null
  done
done

docker compose up --detach --no-deps --wait janitor
