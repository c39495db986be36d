#!/bin/sh
# Turns the candidate, which was built from the tested commit, into a final release: builds it once more and
# compares the two, uploads blobs and packages to the blobstore of config/final.yml, commits the files in which
# bosh records the release, lists its components, signs it, and leaves commit, tag and notes to the pipeline. It
# pushes nothing itself. The newest section of CHANGELOG.md names the version.
set -eu

: "${SIGNING_KEY:?}" "${GIT_USER_NAME:?}" "${GIT_USER_EMAIL:?}"

fail() {
  echo "publish: $*" >&2
  exit 1
}

# No program but `sign` gets the key, and `make`, which runs what others wrote, no credentials.
key=$SIGNING_KEY
private=${PRIVATE_YML-}
unset SIGNING_KEY PRIVATE_YML

# Prints the commit, the fingerprints and the SHA-256 that a release names, and the SHA-256 of each part that is
# really in it: finalize-release uploads the parts as they are, and does not compare them with its manifest.
contents() {
  tar -xOf "$1" release.MF | sed '/^version:/d'
  tar -xf "$1" --exclude=release.MF --to-command='printf "%s " "$TAR_FILENAME"; sha256sum'
}

candidate=$PWD/candidate/bosh-aws-cpi.tgz
final=$PWD/final
git clone --quiet source published
cd published
git config user.name "$GIT_USER_NAME"
git config user.email "$GIT_USER_EMAIL"

version=$(sh scripts/version)
manifest=releases/bosh-aws-cpi/bosh-aws-cpi-$version.yml
grep -q '^blobstore:' config/final.yml || fail "config/final.yml names no blobstore; see docs/release.md"
lfs= # the folder of the blobs, if they are in the repository itself, by Git LFS
if grep -q '^[^#]*blobstore_path: final_blobs' config/final.yml; then
  lfs=final_blobs
  command -v git-lfs >/dev/null || fail "git-lfs is missing: git would commit the blobs themselves"
  git lfs install --local --skip-repo >/dev/null # `git add` then installs the hook by which `git push` uploads them
  git lfs pull
else
  [ -n "$private" ] || fail "PRIVATE_YML is not set: only Git LFS needs no credentials for a blobstore"
fi

# The credentials are deleted when this script ends; .gitignore keeps them out of commits.
trial=$(mktemp -d)
trap 'exit 1' HUP INT TERM # dash runs the next one only when it exits by itself
trap 'rm -rf config/private.yml "$trial"' EXIT

# A key that can't sign, or that nobody could verify, ends the task before anything is uploaded.
echo "$version" > "$trial/version"
SIGNING_KEY=$key sh scripts/sign "$trial" version

# What was tested has to be what the source gives: the same commit, fingerprints and SHA-256.
make vendor
list=bosh-aws-cpi-$version.cdx.json
SOURCE_DATE_EPOCH=$(git log -1 --format=%ct) make sbom SBOM_ARGS="--version $version --output '$trial/$list'"
[ -z "$private" ] || (umask 077 && printf '%s\n' "$private" > config/private.yml)
sh scripts/create-release --version="$version" --tarball="$trial/rebuilt.tgz"
contents "$candidate" > "$trial/tested"
contents "$trial/rebuilt.tgz" > "$trial/rebuilt"
diff "$trial/tested" "$trial/rebuilt" >&2 ||
  fail "the candidate differs from a build of its commit; see \"Reproducible\" in docs/release.md"

# Blobs that the blobstore lacks get an object_id. The commit is needed because finalize-release requires a
# clean working copy.
bosh --non-interactive upload-blobs
git add config/blobs.yml ${lfs:+"$lfs"}
git diff --cached --quiet || git commit --quiet --message "Upload the blobs of version $version"

bosh --non-interactive finalize-release "$candidate" --version="$version"
sed -i "s/^## \[$version\]\$/& - $(date -u +%Y-%m-%d)/" CHANGELOG.md
git add .final_builds releases CHANGELOG.md ${lfs:+"$lfs"}
git commit --quiet --message "Publish version $version"

sh scripts/create-release "$manifest" --tarball="$final/bosh-aws-cpi-$version.tgz"
mv "$trial/$list" "$final"
SIGNING_KEY=$key sh scripts/sign "$final" "bosh-aws-cpi-$version.tgz" "$list"
echo "v$version" > "$final/tag"
{
  awk -v heading="## [$version]" 'index($0, "## [") == 1 { on = index($0, heading) == 1; next } on' CHANGELOG.md
  echo
  echo "SHA-256 of the tarball: $(sha256sum "$final/bosh-aws-cpi-$version.tgz" | cut -d ' ' -f 1)"
} > "$final/notes.md"
