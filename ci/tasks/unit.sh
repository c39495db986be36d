#!/bin/sh
# Runs the checks and the tests that need neither AWS nor the bosh CLI. Needs make, Python and ruby.
set -eu
cd source

# No test may look for credentials on the machine that it runs on.
export AWS_EC2_METADATA_DISABLED=true

make lint
make test
make test-release
make test-testbed
