"""The protocol frame: requests, versions, responses. Knows no word of AWS."""
