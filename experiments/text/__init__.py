"""What the text experiments of the pioneers share: a corpus, small models pretrained on it, tasks."""
