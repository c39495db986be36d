"""Run a command and print its cost: `python -I -S timed.py STDIN STDOUT STDERR COMMAND ...`.

Prints milliseconds of CPU, the peak of its memory in `ru_maxrss`'s unit, and the exit status. It is a process
of its own, and a small one, because on Linux its peak begins with that of the process that started it.
"""

import os
import sys


def main() -> None:
    """Run it, and wait for it alone."""
    stdin, stdout, stderr, *command = sys.argv[1:]
    written = os.O_WRONLY | os.O_CREAT | os.O_TRUNC
    streams = [(stdin, os.O_RDONLY), (stdout, written), (stderr, written)]
    opened = [(os.POSIX_SPAWN_OPEN, number, path, mode, 0o600) for number, (path, mode) in enumerate(streams)]
    process = os.posix_spawn(command[0], command, os.environ, file_actions=opened)
    _, status, usage = os.wait4(process, 0)
    cpu = usage.ru_utime + usage.ru_stime
    print(cpu * 1000, usage.ru_maxrss, os.waitstatus_to_exitcode(status))


if __name__ == "__main__":
    main()
