"""Grade untrusted submissions: rebuild, run in a jail, judge outside. ``pioneers grade`` is the command."""
