#!/bin/sh
# The real bosh CLI and bosh-agent against a simulated AWS on loopback. The step must be privileged: the
# agents run in user namespaces of their own.
set -eu
cd source

export AWS_EC2_METADATA_DISABLED=true

make e2e
