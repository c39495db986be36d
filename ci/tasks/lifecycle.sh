#!/bin/sh
# What is believed of AWS, and the life of VMs, disks, snapshots and stemcells by the executable, in a real
# AWS account. Both programs make a VPC of their own and remove all that they have made; docs/aws-assumptions.md
# says what the keys must be allowed. The tests run the same programs on the simulated AWS.
#
# NEVER RUN ON AWS SO FAR: where this was written there is no AWS account.
set -eu

: "${AWS_ACCESS_KEY_ID:?}" "${AWS_SECRET_ACCESS_KEY:?}" "${REGION:?}"
cd source

make aws-check AWS_CHECK_ARGS="--region $REGION"
make lifecycle LIFECYCLE_ARGS="--region $REGION"
