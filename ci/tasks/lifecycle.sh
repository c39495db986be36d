#!/bin/sh
# A Director's whole life in a real AWS account, with bosh-deployment's own manifest and this release: made,
# left alone by a second run, recreated with its disk kept, deleted.
#
# NEVER RUN SO FAR: where this was written there is no AWS account. Its steps are those of the end-to-end
# suite, and the operations file has been seen to change nothing in the manifest but the release.
#
# The account needs a subnet with a way out to the Internet, a key pair, security groups, and keys that may
# do what docs/operators.md lists. The worker must reach ADDRESS, so it runs in that VPC or is connected to
# it; elastic IPs can't be used yet. It should take about an hour of a t3.medium. Aborting the build may leave
# no time to delete.
set -eu

: "${AWS_ACCESS_KEY_ID:?}" "${AWS_SECRET_ACCESS_KEY:?}" "${REGION:?}" "${ZONE:?}" "${SUBNET_ID:?}"
: "${SUBNET_CIDR:?}" "${SUBNET_GATEWAY:?}" "${ADDRESS:?}" "${KEY_NAME:?}" "${SECURITY_GROUPS:?}"

source=$PWD/source
manifests=$PWD/bosh-deployment
release=$PWD/candidate/bosh-aws-cpi.tgz

# The Director's passwords and keys are made here, and go with this folder.
umask 077
scratch=$(mktemp -d)
export HOME="$scratch"
cd "$scratch"

# The CLI takes the keys from its environment: arguments can be read by everybody on the machine. The CPI
# must not find them there, since the manifest is what gives it its keys.
export MANIFEST_access_key_id="$AWS_ACCESS_KEY_ID" MANIFEST_secret_access_key="$AWS_SECRET_ACCESS_KEY"
unset AWS_ACCESS_KEY_ID AWS_SECRET_ACCESS_KEY AWS_SESSION_TOKEN

cat > log-level.yml <<'OPS'
- type: replace
  path: /cloud_provider/properties/debug?/cpi/log_level
  value: ((log_level))
OPS

on_manifest() {
  command=$1
  shift
  bosh --non-interactive "$command" "$manifests/bosh.yml" "$@" \
    --state=state.json --vars-store=creds.yml --vars-env=MANIFEST \
    -o "$manifests/aws/cpi.yml" -o "$source/ci/ops/use-release.yml" -o log-level.yml \
    -v aws_cpi_release="$release" -v log_level="${LOG_LEVEL:-info}" -v director_name=cpi-lifecycle \
    -v region="$REGION" -v az="$ZONE" -v subnet_id="$SUBNET_ID" -v internal_cidr="$SUBNET_CIDR" \
    -v internal_gw="$SUBNET_GATEWAY" -v internal_ip="$ADDRESS" -v default_key_name="$KEY_NAME" \
    -v default_security_groups="$SECURITY_GROUPS"
}

# One id of state.json, which holds no secrets: current_vm_cid or current_disk_id's cid.
cid() {
  python3 -c '
import json, sys
state = json.load(open("state.json"))
disk = next(d["cid"] for d in state["disks"] if d["id"] == state["current_disk_id"])
print({"vm": state["current_vm_cid"], "disk": disk}[sys.argv[1]])' "$1"
}

fail() {
  echo "lifecycle: $*" >&2
  exit 1
}

# Whatever happened, nothing stays in the account; if it does, the log says what.
delete() {
  status=$?
  trap - EXIT
  if [ -e state.json ]; then
    on_manifest delete-env || status=1
  fi
  if [ -e state.json ]; then
    echo "lifecycle: LEFT BEHIND, delete by hand what state.json names:" >&2
    cat state.json >&2
    status=1
  fi
  cd / && rm -rf "$scratch"
  exit "$status"
}
trap delete EXIT
trap 'exit 1' INT TERM

on_manifest create-env
vm=$(cid vm) disk=$(cid disk)

on_manifest create-env
[ "$(cid vm)" = "$vm" ] || fail "a second run made another VM"

on_manifest create-env --recreate
[ "$(cid vm)" != "$vm" ] || fail "--recreate made no new VM"
[ "$(cid disk)" = "$disk" ] || fail "--recreate did not keep the disk"

echo "lifecycle: all as it should be; deleting"
