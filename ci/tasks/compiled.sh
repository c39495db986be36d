#!/bin/sh
# Compiles the published release on a system of a stemcell's line, packs the result as a compiled release, lets
# the real CLI and agent install it, and signs it. Fails, and leaves nothing to upload, if they have to compile. The
# step must be privileged, because each agent runs in its own user namespace.
set -eu

: "${STEMCELL:?}" "${SIGNING_KEY:?}"

compiled=$PWD/compiled
tag=$(cat github-release/tag)
E2E_RELEASE=$PWD/github-release/bosh-aws-cpi-${tag#v}.tgz
name=bosh-aws-cpi-${tag#v}-$(echo "$STEMCELL" | tr / -)

# No program but `sign` gets the key.
key=$SIGNING_KEY
unset SIGNING_KEY

cd source
E2E_COMPILED=$(mktemp -d)
export E2E_RELEASE E2E_COMPILED E2E_STEMCELL="$STEMCELL" AWS_EC2_METADATA_DISABLED=true
make e2e PYTEST_ARGS=tests/e2e/test_precompiled.py

cp "$E2E_COMPILED/$name.tgz" "$compiled"
SIGNING_KEY=$key sh scripts/sign "$compiled" "$name.tgz"
echo "$tag-$(echo "$STEMCELL" | tr / -)" > "$compiled/tag"
