"""AWS's API, one module per noun: functions that take a client and values, and return `model` types."""
