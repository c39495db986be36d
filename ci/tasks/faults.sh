#!/bin/sh
# Runs the fault matrix, and pairs of faults whose seed is the day, unless FAULT_SEED gives one. A pair that fails
# prints the command that tries it again, seed included.
set -eu
cd source

export AWS_EC2_METADATA_DISABLED=true

make faults
