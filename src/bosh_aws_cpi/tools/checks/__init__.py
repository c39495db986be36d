"""The parts of `cpi check`: reading the files, the Director's rules, the CPI's rules."""
