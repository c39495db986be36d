"""The configuration: loading of the file, its keys, and checks of the values."""
