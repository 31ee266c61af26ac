"""Shared by the text experiments: a corpus, small models pretrained on it, tasks."""
