"""Mistakes of lab 3 that lab 7 knows too."""
