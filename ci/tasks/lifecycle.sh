#!/bin/sh
# Tests the assumptions about AWS in a real account, and then the executable's methods. Each of the two programs
# creates its own VPC, and deletes everything that it has created. docs/aws-assumptions.md lists the
# permissions that the keys need. The second program runs even if the first one fails; the exit status is that
# of the last one that failed. The tests run the same programs on the simulated AWS.
#
# NEVER RUN ON AWS SO FAR: there was no AWS account where this was written.
set -eu

: "${AWS_ACCESS_KEY_ID:?}" "${AWS_SECRET_ACCESS_KEY:?}" "${REGION:?}"
cd source

status=0
make aws-check AWS_CHECK_ARGS="--region $REGION" || status=$?
make lifecycle LIFECYCLE_ARGS="--region $REGION" || status=$?
exit "$status"
