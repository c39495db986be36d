"""AWS, one module per noun: functions of a client and values, that return `model` types."""
