"""Takes away what only Linux has: fork, process groups, file locks, /proc, some signals. A plugin of pytest, too.

Imported before anything of the package. What stays is what Windows has as well, as far as that can be had on this
machine: paths, line ends and terminals are not tried, and libraries still see Linux. That text files are opened with
their encoding, ruff checks (PLW1514).
"""

import os
import signal
import sys

for name in ("fcntl", "resource", "pwd", "grp", "termios", "syslog"):
    sys.modules[name] = None
for name in ("fork", "forkpty", "killpg", "setsid", "sysconf", "sched_getaffinity", "setns", "unshare"):
    if hasattr(os, name):
        delattr(os, name)
for name in ("SIGKILL", "SIGXFSZ", "SIGHUP", "SIGALRM", "SIGUSR1", "SIGCHLD", "alarm", "setitimer", "pthread_kill"):
    delattr(signal, name)


def refuse(event, arguments):
    if event == "open" and str(arguments[0]).startswith(("/proc", "/sys")):
        raise FileNotFoundError(2, "No such file or directory", arguments[0])


sys.addaudithook(refuse)
