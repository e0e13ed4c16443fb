from markupsafe import escape


def test_escaped() -> None:
    assert str(escape("<")) == "&lt;"
