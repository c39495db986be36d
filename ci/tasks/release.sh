#!/bin/sh
# Builds the candidate: a dev release of what is committed, with its blobs checked. Needs make, Python and
# the bosh CLI; fetches the blobs.
set -eu
tarball=$PWD/candidate/bosh-aws-cpi.tgz
cd source

make vendor
# Without --force: a working copy that differs from its commit is no candidate.
bosh create-release --timestamp-version --tarball="$tarball"
sha256sum "$tarball"
