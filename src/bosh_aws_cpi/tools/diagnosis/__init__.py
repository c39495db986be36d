"""The parts of `cpi diagnose`: gathering asks AWS once; all other modules are pure."""
