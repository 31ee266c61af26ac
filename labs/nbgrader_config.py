"""nbgrader's settings for making the student versions of the labs and for grading them."""

c = get_config()  # noqa: F821  (nbgrader provides it)

c.CourseDirectory.course_id = "pioneers"
# Without a name here a submission could bring its own kernel.
c.ExecutePreprocessor.kernel_name = "python3"
c.ExecutePreprocessor.timeout = 120  # seconds per cell
c.ClearSolutions.code_stub = {"python": 'raise NotImplementedError("Replace this line by your answer.")'}
c.ClearSolutions.text_stub = "*Write your answer here instead of this line.*"
# A deleted check cell is put back, and then earns what the answer earns.
c.OverwriteCells.add_missing_cells = True
