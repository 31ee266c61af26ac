"""The code that runs in the jail, next to the student's. It holds nothing that a student may not see."""
