import gzip
import json
import struct

import pytest
import torch

from pioneers.data import text_file
from pioneers.data.formats import Answer, read_conllu, read_idx, read_json, read_lines, read_squad, read_table


@pytest.fixture
def write(tmp_path):
    """Writes a file and gives its path; text becomes UTF-8."""

    def write(name, content):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return write


def test_a_text_comes_without_mark_and_with_plain_line_ends(write):
    text = "first\nsecond é\n"
    assert text_file(write("plain.txt", text)) == text
    assert text_file(str(write("windows.txt", b"\xef\xbb\xbf" + text.replace("\n", "\r\n").encode()))) == text
    assert text_file(write("packed.txt.gz", gzip.compress(text.encode()))) == text


def test_what_is_no_text_says_why(write, tmp_path):
    with pytest.raises(FileNotFoundError, match=r"nowhere\.txt does not exist; correct the path"):
        text_file(tmp_path / "nowhere.txt")
    with pytest.raises(FileNotFoundError, match="is a folder, not a file"):
        text_file(tmp_path)
    with pytest.raises(ValueError, match=r"empty\.txt contains no text"):
        text_file(write("empty.txt", " \n"))
    with pytest.raises(ValueError, match=r"latin\.txt, line 3: byte 0xe9 is not UTF-8; save the file again"):
        text_file(write("latin.txt", "a\nb\ncafé\n".encode("latin-1")))


@pytest.mark.parametrize(
    "damage", [lambda b: b[:-11], lambda b: b"no" + b, lambda b: b[:20] + b"\xff" * 7 + b[27:]]
)
def test_a_damaged_gzip_file_is_named(write, damage):
    packed = gzip.compress(bytes(range(256)) * 3)
    with pytest.raises(ValueError, match=r"t\.gz is a truncated or damaged gzip file \(.*\); get it again"):
        text_file(write("t.gz", damage(packed)))


def test_only_a_line_feed_ends_a_line(write):
    assert read_lines(write("a", "one\u2028still one\x85\ntwo\n\nfour")) == [
        "one\u2028still one\x85",
        "two",
        "",
        "four",
    ]


def test_a_table_keeps_its_quotes_and_counts_its_columns(write):
    assert read_table(write("t.tsv", 'a "b\t1\nc" d\t0\n'), columns=2) == [['a "b', "1"], ['c" d', "0"]]
    with pytest.raises(ValueError, match=r"t\.tsv, line 2: 3 tab-separated columns where 2 are expected"):
        read_table(write("t.tsv", "a\t1\nb\t2\t3\n"), columns=2)


def test_json_errors_have_a_place(write):
    assert read_json(write("a.json", '{"a": 1}')) == {"a": 1}
    with pytest.raises(ValueError, match=r"b\.json, line 2, column 3: not JSON"):
        read_json(write("b.json", '{"a": 1,\n  b}'))


def test_idx_files_are_read_in_the_order_of_their_header(write):
    header = bytes([0, 0, 8, 3]) + struct.pack(">3I", 2, 3, 5)
    expected = torch.arange(30, dtype=torch.uint8).view(2, 3, 5)
    assert torch.equal(read_idx(write("a", header + bytes(range(30))), ndim=3), expected)
    packed = write("a.gz", gzip.compress(header + bytes(range(30))))
    assert torch.equal(read_idx(packed, ndim=3), expected)
    with pytest.raises(ValueError, match=r"a has 29 bytes of data where its header promises 30"):
        read_idx(write("a", header + bytes(29)), ndim=3)
    for wrong in (header + bytes(30), bytes([0, 0, 8, 1, 0])):
        with pytest.raises(ValueError, match="not an IDX file of bytes with 1 dimensions"):
            read_idx(write("a", wrong), ndim=1)


def conllu(*rows):
    return "".join("\t".join([*row, *"______"]) + "\n" if row else "\n" for row in rows)


def test_conllu_gives_words_and_tags(write):
    text = "# text = Don't go\n" + conllu(
        ("1-2", "Don't", "_", "_"),
        ("1", "Do", "do", "AUX"),
        ("2", "n't", "not", "PART"),
        ("2.1", "you", "you", "PRON"),
        ("3", "go", "go", "VERB"),
        (),
        (),
        ("1", "Yes", "yes", "INTJ"),
    )
    first, second = read_conllu(write("a.conllu", text))
    assert first == (("Do", "n't", "go"), ("AUX", "PART", "VERB"))
    assert second == (("Yes",), ("INTJ",))
    with pytest.raises(ValueError, match=r"b\.conllu, line 10: 3 columns where CoNLL-U has 10"):
        read_conllu(write("b.conllu", text + "2\tso\tso\n"))


def test_conllu_gives_relations_without_their_subtypes(write):
    rows = [["1", "its", *"_____", "nmod:poss", "_", "_"], ["2", "end", *"_____", "root", "_", "_"]]
    path = write("a.conllu", "".join("\t".join(row) + "\n" for row in rows))
    assert read_conllu(path, "relations") == [(("its", "end"), ("nmod", "root"))]
    with pytest.raises(ValueError, match="'lemmas' is not among parts, relations"):
        read_conllu(path, "lemmas")


def test_squad_gives_questions_with_and_without_answers(write):
    answer = {"text": "Rouen", "answer_start": 3}
    entries = [
        {"id": "a", "question": "Where?", "answers": [answer], "is_impossible": False},
        {"id": "b", "question": "Why?", "answers": [], "is_impossible": True},
    ]
    data = {"data": [{"title": "t", "paragraphs": [{"context": "in Rouen", "qas": entries}]}]}
    where, why = read_squad(write("a.json", json.dumps(data)))
    assert where == ("a", "in Rouen", "Where?", (Answer("Rouen", 3),))
    assert why == ("b", "in Rouen", "Why?", ())
    del entries[0]["question"]
    for wrong in (data, []):
        with pytest.raises(ValueError, match=r"b\.json is not in SQuAD's format"):
            read_squad(write("b.json", json.dumps(wrong)))
