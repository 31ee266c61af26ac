from pioneers.progress import progress


def test_the_bar_is_drawn_and_can_be_silenced(monkeypatch, capsys):
    monkeypatch.delenv("TQDM_DISABLE", raising=False)
    assert list(progress(range(3), desc="counting")) == [0, 1, 2]
    assert "counting: 100%" in capsys.readouterr().err
    monkeypatch.setenv("TQDM_DISABLE", "1")
    assert list(progress(range(3), desc="counting")) == [0, 1, 2]
    assert capsys.readouterr().err == ""
