from markupsafe import Markup


def test_joined() -> None:
    assert Markup(", ").join(["<", ">"]) == "&lt;, &gt;"
