import gzip
import json

import pytest

from pioneers.data import is_table, read_records

ROWS = [("a, b", "1"), ('he said "no"', "0"), ("two\nlines", "1"), ("naïve 🙂", "0")]


def as_csv(separator):
    quoted = [[f'"{field}"' for field in (label, text.replace('"', '""'))] for text, label in ROWS]
    return "\n".join(separator.join(row) for row in [["label", "text"], *quoted]) + "\n\n"


FORMS = {
    "rows.csv": as_csv(","),
    "rows.tsv": as_csv("\t"),
    "rows.jsonl": "\n".join(json.dumps({"label": int(label), "text": text}) for text, label in ROWS) + "\n\n",
}


@pytest.mark.parametrize("name", FORMS)
@pytest.mark.parametrize("way", ["plain", "gz", "windows"])
def test_every_form_of_a_table_gives_the_same_rows(name, way, tmp_path):
    text = FORMS[name]
    raw = b"\xef\xbb\xbf" + text.replace("\n", "\r\n").encode() if way == "windows" else text.encode()
    path = tmp_path / (name + ".gz" * (way == "gz"))
    path.write_bytes(gzip.compress(raw) if way == "gz" else raw)
    assert [record.values for record in read_records(path, ["text", "label"])] == ROWS
    assert [record.values for record in read_records(path, ["label"])] == [(label,) for _, label in ROWS]
    assert is_table(path)


def test_a_row_says_in_which_line_it_ends(tmp_path):
    (tmp_path / "a.csv").write_text('text\n"one\ntwo"\nthree\n')
    assert [record.line for record in read_records(tmp_path / "a.csv", ["text"])] == [3, 4]
    (tmp_path / "a.jsonl").write_text('{"text": "a"}\n\n{"text": "b"}\n')
    assert [record.line for record in read_records(tmp_path / "a.jsonl", ["text"])] == [1, 3]


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.csv", b"", None),
        ("a.csv", b"words,label\nx,1\n", "line 1: no column 'text', only 'words', 'label'; name the right"),
        ("a.csv", b"text,label\nx,1\na,b,c\n", "line 3: 3 fields where the first line names 2; put quotes"),
        ("a.csv", b'text\n"open', "line 2: broken row"),
        ("a.csv", b"text\nok\ncaf\xe9\n", "line 3: byte 0xe9 is not UTF-8; save the file again as UTF-8"),
        ("a.jsonl", b'{"text": "a"}\n{"text": \n', "line 2: not JSON"),
        ("a.jsonl", b'["a"]\n', "line 1: not an object with named columns"),
        ("a.jsonl", b'{"body": "a"}\n', "line 1: no column 'text', only 'body'"),
        ("a.jsonl", b'{"text": null}\n', "line 1: the column 'text' is null, not a text"),
        ("a.jsonl", b'{"text": ["a"]}\n', "line 1: the column 'text' is"),
        ("a.jsonl", b'{"text": "\\ud83d"}\n', "line 1: the column 'text' has half a surrogate pair"),
        (
            "a.jsonl.gz",
            gzip.compress(b'{"text": "a"}\n' * 99, mtime=0)[:-9],
            "truncated or damaged gzip file",
        ),
        ("a.txt", b"a", "is not a table: its name must end in .csv, .tsv or .jsonl"),
    ],
)
def test_broken_tables_are_named_with_their_line(name, content, message, tmp_path):
    (tmp_path / name).write_bytes(content)
    if message is None:
        assert list(read_records(tmp_path / name, ["text"])) == []
        return
    with pytest.raises(ValueError, match=message) as error:
        list(read_records(tmp_path / name, ["text"]))
    assert str(tmp_path / name) in str(error.value)


def test_a_missing_table_and_a_long_field(tmp_path):
    with pytest.raises(FileNotFoundError, match="does not exist; correct the path"):
        list(read_records(tmp_path / "none.csv", ["text"]))
    (tmp_path / "long.csv").write_text("text\n" + "a" * 300_000 + "\n")
    assert [len(record.values[0]) for record in read_records(tmp_path / "long.csv", ["text"])] == [300_000]
