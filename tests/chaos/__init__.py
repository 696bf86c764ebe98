"""Real processes on several "hosts", a nemesis, and a judge who reads their histories.

network.py   the hosts: network namespaces on one switch, whose wires can be cut
hosts.py     what runs there: servers, workers, a store that knows fences
programs.py  a process on a host; etcd.py, postgresql.py: the servers that keep the members
worker.py    takes locks again and again, and writes down what happens to it
store.py     refuses writes with old fences, and writes down all of them
nemesis.py   what goes wrong, drawn from a seed
history.py   what was written down, read again
judge.py     whether that was right
report.py    how it went, as a page; summary.py: as a few figures
"""
