"""The configuration: its file, its values, and their meaning."""
