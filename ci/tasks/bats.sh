#!/bin/sh
# Runs BOSH's acceptance tests (cloudfoundry/bosh-acceptance-tests) against the Director of bats-director.sh.
#
# NEVER RUN ON AWS SO FAR: there was no AWS account where this was written.
set -eu

: "${RSPEC_FLAGS:?}"

. source/ci/bats/director.env
config=$(mktemp -d)
# BATS prints its configuration with this key (lib/bat/deployment.rb), so that must not be the Director's own.
ssh-keygen -q -t rsa -b 3072 -m PEM -N '' -C bats -f "$config/key"
tar -xzOf stemcell/stemcell.tgz stemcell.MF > "$config/stemcell.yml"
bosh interpolate source/ci/bats/bat.yml \
  -v stemcell_name="$(bosh interpolate "$config/stemcell.yml" --path /name)" \
  --var-file ssh_public_key="$config/key.pub" --var-file ssh_private_key="$config/key" \
  -l director/network.yml --var-errs > "$config/bat.yml"

BAT_STEMCELL=$PWD/stemcell/stemcell.tgz
BAT_DEPLOYMENT_SPEC=$config/bat.yml
BAT_BOSH_CLI=$(command -v bosh)
BAT_INFRASTRUCTURE=aws
export BAT_STEMCELL BAT_DEPLOYMENT_SPEC BAT_BOSH_CLI BAT_INFRASTRUCTURE

cd bats
bundle install
# Without quotes: several words.
bundle exec rspec spec/system $RSPEC_FLAGS
