#!/bin/sh
# Compiles the release's packages and runs the executable and stemcell-copy on userlands of each stemcell line's
# age, made of Debian's suites (docs/stemcells.md). The step must be privileged, because it makes root file
# systems, mounts and loop devices.
set -eu
cd source

export AWS_EC2_METADATA_DISABLED=true

make stemcell-lines
