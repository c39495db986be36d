#!/bin/sh
# Tests the assumptions about AWS in a real account, and then the executable's methods. Each of the two programs
# creates its own VPC, and deletes everything that it has created. docs/aws-assumptions.md lists the
# permissions that the keys need. The second program runs even if the first one fails; the exit status is that
# of the last one that failed. What both saw becomes a page of docs/certification, in a commit that is left to
# the pipeline. The tests run the same programs on the simulated AWS.
#
# NEVER RUN ON AWS SO FAR: there was no AWS account where this was written.
set -eu

: "${AWS_ACCESS_KEY_ID:?}" "${AWS_SECRET_ACCESS_KEY:?}" "${REGION:?}" "${GIT_USER_NAME:?}" "${GIT_USER_EMAIL:?}"
checked=$PWD/aws-check.json
lived=$PWD/lifecycle.json
git clone --quiet source certified
cd certified
make venv >&2 # from here on make prints nothing but the programs' JSON on standard output

status=0
make aws-check AWS_CHECK_ARGS="--region $REGION --json" > "$checked" || status=$?
make lifecycle LIFECYCLE_ARGS="--region $REGION --json" > "$lived" || status=$?

page=docs/certification/$(date -u +%Y-%m-%d-%H%M)-$REGION.md
python3 -m acceptance.certificate --region "$REGION" --commit "$(git rev-parse HEAD)" "$checked" "$lived" > "$page"
git config user.name "$GIT_USER_NAME"
git config user.email "$GIT_USER_EMAIL"
git add docs/certification
git commit --quiet --message "What a run on AWS in $REGION saw"
exit "$status"
