#!/bin/sh
# Deletes the deployments of BOSH's acceptance tests with their orphaned disks, and the Director of
# bats-director.sh. It deletes the Director even if it can't delete a deployment, or if the Director hangs; then
# it fails, and `cpi sweep` finds what is left.
#
# NEVER RUN ON AWS SO FAR: there was no AWS account where this was written.
set -eu

: "${AWS_ACCESS_KEY_ID:?}" "${AWS_SECRET_ACCESS_KEY:?}"

if [ ! -e director/state.json ]; then
  echo "bats-teardown: there is no Director"
  exit 0
fi
export HOME="$PWD/director/home" # the compiled CPI

status=0
(
  . source/ci/bats/director.env
  failed=0
  timeout 30m bosh --deployment=bat delete-deployment --force || failed=$?
  timeout 30m bosh clean-up --all || failed=$?
  exit "$failed"
) || status=$?

export CPI_access_key_id="$AWS_ACCESS_KEY_ID" CPI_secret_access_key="$AWS_SECRET_ACCESS_KEY"
bosh delete-env director/director.yml \
  --state=director/state.json --vars-store=director/creds.yml --vars-env=CPI || status=$?
[ "$status" -eq 0 ] || echo "bats-teardown: not all could be deleted; cpi sweep lists what is left" >&2
exit "$status"
