"""``pioneers grade``: grade a lab for a class, each submission in a jail."""

import os
import secrets
import sys
from argparse import Namespace
from collections import Counter
from dataclasses import replace
from pathlib import Path

from pioneers.autograder.batch import Cohort, grade_cohort
from pioneers.autograder.jail import Limits, NoJail, require_linux
from pioneers.autograder.publish import publish
from pioneers.autograder.record import check_gradebook, gradebook_view, record
from pioneers.autograder.self_test import try_jails
from pioneers.autograder.single import Result, earlier, exercises, write
from pioneers.autograder.skeleton import Skeleton
from pioneers.autograder.tables import changes, changes_table
from pioneers.cli.parser import Parser, non_negative_float, positive_int

DESCRIPTION = """\
Grade a class's submissions for a lab. COURSE is the folder of an nbgrader course, with submissions in
COURSE/submitted/STUDENT/LAB. Each gets a score, a reason for every lost point, and flags for the
teacher. Scores go into gradebook.db, pages into feedback/ and reports/. The same command resumes after
an interruption; unchanged submissions are not graded again, and manual scores are kept."""
EPILOG = """\
examples:
  pioneers grade course 01_self_attention
  pioneers grade course 01_self_attention --processes 8 --again
  pioneers grade course 01_self_attention --scheduler tls://10.0.0.5:8786

Submissions run in a bubblewrap jail, which is tested first. Without a jail the command refuses, and so
does a worker of a Dask cluster, which needs the extra "cluster" on all its machines.
"""
DEFAULTS = Limits()


def add_arguments(parser: Parser) -> None:
    """Add the arguments: course, lab and limits."""
    parser.description, parser.epilog = DESCRIPTION, EPILOG
    parser.add_argument("course", metavar="COURSE", type=Path, help="the folder of the course")
    parser.add_argument("lab", metavar="LAB", help="the name of the lab")
    parser.add_argument(
        "--processes", type=positive_int, default=cores(), metavar="N", help="submissions at once"
    )
    parser.add_argument(
        "--scheduler",
        default="",
        metavar="ADDRESS",
        help="grade on the workers of this Dask scheduler, such as tls://10.0.0.5:8786, and not here",
    )
    parser.add_argument("--again", action="store_true", help="grade unchanged submissions again")
    parser.add_argument(
        "--exercise",
        default="",
        metavar="N.M",
        help="after its check was corrected: check this one again, and keep the marks of the others",
    )
    parser.add_argument(
        "--variants",
        default="",
        metavar="NAME",
        help="check with numbers of each student's own, drawn from this name of the course and theirs",
    )
    parser.add_argument(
        "--trust-this-class",
        action="store_true",
        help="run without a jail: every student can then read and change everything you can",
    )
    _add_limits(parser)


def _add_limits(parser: Parser) -> None:
    limits = parser.add_argument_group("what a submission may use")
    limits.add_argument(
        "--minutes", type=non_negative_float, default=DEFAULTS.total / 60, metavar="X", help="in all"
    )
    limits.add_argument(
        "--memory", type=non_negative_float, default=DEFAULTS.memory / 2**30, metavar="GIB", help="in all"
    )


def run(args: Namespace) -> int:
    """Grade, record, publish, and say where the results are."""
    require_linux()
    limits = Limits(memory=int(args.memory * 2**30), total=args.minutes * 60)
    check_gradebook(args.course, args.lab)
    if args.exercise:
        _check_exercise(args.course, args.lab, args.exercise)
    cohort = Cohort(args.course.resolve(), args.lab, limits, args.trust_this_class, args.exercise)
    if not cohort.students():
        raise ValueError(
            f"nobody has handed in {args.lab}: there is no {args.course}/submitted/STUDENT/{args.lab}"
        )
    if args.variants:
        cohort = replace(cohort, variants=args.variants, secret=_secret(cohort.course))
    if args.trust_this_class:
        print(
            "pioneers: no jail: this class is trusted with everything you can read and change",
            file=sys.stderr,
        )
    elif not args.scheduler:
        cohort = replace(cohort, warm=_try_the_jail(limits))
    students = cohort.students()
    before = {who: found for who in students if (found := earlier(cohort.course, who, cohort.lab))}
    results: list[Result] = []
    try:
        results.extend(
            grade_cohort(cohort, processes=args.processes, again=args.again, scheduler=args.scheduler)
        )
    except KeyboardInterrupt:
        done = f"{len(results)} of {len(cohort.students())} submissions are graded"
        raise KeyboardInterrupt(f"interrupted: {done}; the same command goes on with the others") from None
    results.sort(key=lambda result: result["student"])
    record(cohort.course, args.lab, results)
    page = publish(cohort.course, args.lab, results, gradebook_view(cohort.course, args.lab))
    kinds = Counter(flag["kind"] for result in results for flag in result["flags"])
    print(f"{len(results)} submissions graded: scores in {args.course / 'gradebook.db'}")
    print("flags: " + (", ".join(f"{n} {kind}" for kind, n in kinds.most_common()) or "none"))
    print(f"the class: {page}")
    _list_changes(before, results, page.with_name("changes.csv"))
    return 0


def _list_changes(before: dict[str, Result], results: list[Result], table: Path) -> None:
    if changed := changes(before, results):
        write(table, changes_table(changed))
        print(f"marks that changed: {len(changed)}, listed in {table}")


def _check_exercise(course: Path, lab: str, exercise: str) -> None:
    """Raise an error unless the lab has the exercise."""
    own = exercises(Skeleton.load(course, lab))
    if exercise not in own:
        raise ValueError(f"{lab} has no exercise {exercise!r}; its exercises are {', '.join(own)}")


def _secret(course: Path) -> str:
    """Return what the hidden probes of a course are drawn from, made when it is first asked for."""
    file = course / "variants.key"
    if not file.exists():
        file.touch(0o600)
        file.write_text(secrets.token_hex())
    return file.read_text()


def cores() -> int:
    """Return the number of processor cores this process may use, or of all if the system does not say."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _try_the_jail(limits: Limits) -> bool:
    """Raise an error unless the jail holds; return whether jails forked from a warm process hold too."""
    cure = "fix that, grade on another machine, or, if you trust every student, add --trust-this-class"
    try:
        cold = try_jails(limits)
    except NoJail as reason:
        raise RuntimeError(f"{reason}; {cure}") from None
    if cold:
        print(f"pioneers: each submission starts Python anew, which takes longer: {cold}", file=sys.stderr)
    return not cold
