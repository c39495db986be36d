#!/bin/sh
# Runs each version of the CPI contract with each stemcell api_version, with a registry and without: a VM's life
# through the executable against a simulated AWS, and the real bosh-agent. The step must be privileged, because
# each agent runs in its own user namespace.
set -eu
cd source

export AWS_EC2_METADATA_DISABLED=true

make permutations
