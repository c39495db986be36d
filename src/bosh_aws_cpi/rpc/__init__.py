"""The protocol frame: requests, versions, responses. It knows nothing about AWS's API."""
