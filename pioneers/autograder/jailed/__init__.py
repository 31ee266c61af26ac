"""What runs in the jail, beside the student's code: it obeys, answers, and holds nothing worth stealing."""
