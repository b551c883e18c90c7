"""Runs a command, whose output goes nowhere, and prints how much memory it took at its peak, in kB:
python3 peak.py COMMAND ARGUMENT..."""
import os
import sys

child = os.fork()
if not child:
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    os.execvp(sys.argv[1], sys.argv[1:])
_, status, usage = os.wait4(child, 0)
print(usage.ru_maxrss)
sys.exit(os.waitstatus_to_exitcode(status))
