#!/bin/sh
# Runs the real bosh CLI and bosh-agent against a simulated AWS on loopback. The step must be privileged,
# because each agent runs in its own user namespace.
set -eu
cd source

export AWS_EC2_METADATA_DISABLED=true

make e2e
