#!/bin/sh
# Builds the candidate: a dev release of the committed files. Fetches and verifies the blobs. Needs make, Python
# and the bosh CLI.
set -eu
tarball=$PWD/candidate/bosh-aws-cpi.tgz
cd source

make vendor
# Without --force, so that a working copy that differs from its commit is refused.
sh scripts/create-release --timestamp-version --tarball="$tarball"
sha256sum "$tarball"
