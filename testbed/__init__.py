"""The test bed: local stand-ins for everything the program talks to.

Serves the tests, the demo and the interactive console; nothing in here is
shipped. Every server listens on the loopback interface and a free port.
"""
