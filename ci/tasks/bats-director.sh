#!/bin/sh
# Creates a Director with the candidate in a test account, for BOSH's acceptance tests. bats-teardown.sh deletes
# it, even if this script fails: the folder `director` has all that it needs.
#
# NETWORK is a map of what the account has, made beforehand:
#   region, az, subnet_id, internal_cidr, internal_gw, internal_ip, external_ip, default_key_name and
#   default_security_groups, as in docs/quick-start.md; this machine reaches external_ip, an elastic IP, at the
#   ports 22 and 6868;
#   vip, second_static_ip and networks, as in BATS's README for AWS: another elastic IP, an address, and four
#   networks (default, second, ipv6, prefix), whose addresses are not internal_ip. The subnet has IPv6, too.
#
# NEVER RUN ON AWS SO FAR: there was no AWS account where this was written.
set -eu

: "${AWS_ACCESS_KEY_ID:?}" "${AWS_SECRET_ACCESS_KEY:?}" "${NETWORK:?}"

umask 077
export HOME="$PWD/director/home" # the compiled CPI, for bats-teardown.sh
mkdir -p "$HOME"
cp candidate/bosh-aws-cpi.tgz director
printf '%s\n' "$NETWORK" > director/network.yml

bosh interpolate bosh-deployment/bosh.yml \
  -o bosh-deployment/aws/cpi.yml \
  -o bosh-deployment/jumpbox-user.yml \
  -o bosh-deployment/external-ip-not-recommended.yml \
  -o source/ci/ops/use-release.yml \
  -v aws_cpi_release=bosh-aws-cpi.tgz -v director_name=bats \
  -l director/network.yml > director/director.yml

export CPI_access_key_id="$AWS_ACCESS_KEY_ID" CPI_secret_access_key="$AWS_SECRET_ACCESS_KEY"
bosh create-env director/director.yml \
  --state=director/state.json --vars-store=director/creds.yml --vars-env=CPI
