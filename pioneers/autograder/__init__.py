"""The grader for classes of strangers: rebuild, jail, check outside. ``pioneers grade`` is its command."""
