"""The layer between the AWS nouns and botocore: clients, call hooks, retries, errors, the SDK's data."""
