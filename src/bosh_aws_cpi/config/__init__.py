"""The configuration: its file, its values, and what they mean."""
