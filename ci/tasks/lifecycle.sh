#!/bin/sh
# Tries in a real AWS account what is assumed about AWS, and then the executable's verbs. Both programs
# create a VPC of their own and delete all that they have created; docs/aws-assumptions.md says what the keys
# must be allowed. The second one runs whatever the first one finds; the worse of the two exit statuses is ours.
# The tests run the same programs on the simulated AWS.
#
# NEVER RUN ON AWS SO FAR: where this was written there is no AWS account.
set -eu

: "${AWS_ACCESS_KEY_ID:?}" "${AWS_SECRET_ACCESS_KEY:?}" "${REGION:?}"
cd source

status=0
make aws-check AWS_CHECK_ARGS="--region $REGION" || status=$?
make lifecycle LIFECYCLE_ARGS="--region $REGION" || status=$?
exit "$status"
