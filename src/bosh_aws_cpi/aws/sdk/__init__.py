"""The layer above botocore: clients, call hooks, retries, errors, the SDK's data."""
