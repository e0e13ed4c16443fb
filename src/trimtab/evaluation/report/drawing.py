"""Compaction of drawings for the page: equal looks, with far fewer bytes and elements."""

import re
from collections.abc import Iterator
from itertools import groupby
from xml.etree import ElementTree

Element = ElementTree.Element

# Attributes without effect here: labels of single marks for assistive technology, hooks for
# scripts, and defaults.
_SAYS_NOTHING = re.compile(r"aria-.*|role|class|pointer-events|version")
_IS_SO_ANYWAY = {("opacity", "1"), ("stroke-width", "1"), ("transform", "translate(0,0)")}
# Attributes that a group's children inherit.
_INHERITED = {
    *("fill", "fill-opacity", "font-family", "font-size", "font-style", "font-weight"),
    *("stroke", "stroke-dasharray", "stroke-linecap", "stroke-linejoin", "stroke-opacity"),
    *("stroke-width", "text-anchor"),
}
_DRAWN_INTO = {"fill", "stroke", "display"}
_DECIMALS = re.compile(r"\d+\.\d{2,}")
_NUMBERS = {"d", "transform", "x2", "y2", "width", "height"}
_LINE = re.compile(r"(?:[ML]-?[\d.]+,-?[\d.]+)+Z?")  # straight segments, in absolute coordinates
_PIECE = re.compile(r"([ML])([^,]+),([^MLZ]+)")
_PLACE = re.compile(r"translate\(([^,]+),([^)]+)\)")
_SVG = "http://www.w3.org/2000/svg"


def slim(svg: str) -> str:
    """Return a compact form of Vega's SVG document, in tenths of a pixel.

    Invisible elements are removed, nested groups merged, common attributes of neighbours stated
    once, and an axis' ticks joined into one path.
    """
    root = ElementTree.fromstring(svg)
    for element in root.iter():
        element.tag = element.tag.removeprefix(f"{{{_SVG}}}")
        element.attrib = dict(_said(element.attrib))
    _simplify(root, paints=False)
    root.set("xmlns", _SVG)
    return ElementTree.tostring(root, encoding="unicode").replace(" />", "/>")


def _said(attributes: dict[str, str]) -> Iterator[tuple[str, str]]:
    for name, value in attributes.items():
        if name in _NUMBERS:
            value = _DECIMALS.sub(lambda found: f"{float(found[0]):.1f}".removesuffix(".0"), value)
        if name == "d" and _LINE.fullmatch(value):
            value = _shorter(value)
        if not _SAYS_NOTHING.fullmatch(name) and (name, value) not in _IS_SO_ANYWAY:
            yield name, value


def _shorter(line: str) -> str:
    """Return a line in relative coordinates, without intermediate points of level stretches."""
    places = [
        (letter, round(10 * float(x)), round(10 * float(y)))
        for letter, x, y in _PIECE.findall(line)
    ]
    said: list[str] = []
    at = (0, 0)
    for place, after in zip(places, [*places[1:], ("M", 0, 0)], strict=True):
        letter, x, y = place
        is_level = after[0] == "L" and at[1] == y == after[2]
        is_between = at[0] < x < after[1] or at[0] > x > after[1]
        if letter == "M":
            said.append(f"M{_tenths(x)},{_tenths(y)}")
        elif is_level and is_between:
            continue
        else:
            said.append(f"l{_tenths(x - at[0])},{_tenths(y - at[1])}")
        at = (x, y)
    return "".join(said) + line[len(line.rstrip("Z")) :]


def _tenths(number: int) -> str:
    return f"{number / 10:g}"


def _simplify(element: Element, paints: bool) -> None:
    """Simplify the children of an element; `paints` says whether an ancestor sets colours."""
    paints = paints or element.get("fill", "none") != "none" or "stroke" in element.attrib
    children: list[Element] = []
    for child in element:
        if len(child) or child.tag in ("g", "defs", "clipPath"):
            _simplify(child, paints)
        if child.tag == "g" and not child.attrib:
            children += child
        elif not _draws_nothing(child, paints):
            children.append(child)
    _fill(element, children)
    if element.tag == "g" and len(children) == 1 and children[0].tag == "g":
        _join(element, children[0])
    elif element.tag in ("g", "svg"):
        _fill(element, _grouped(list(element)))


def _draws_nothing(element: Element, paints: bool) -> bool:
    if element.tag == "g":
        return not len(element)
    if element.tag == "path" and element.get("d") in ("", None, "M0,0h0v0h0Z"):
        return True
    return element.tag == "path" and not paints and not element.attrib.keys() & _DRAWN_INTO


def _join(outer: Element, inner: Element) -> None:
    """Merge a group with its only child group, unless attributes conflict."""
    both = outer.attrib.keys() & inner.attrib.keys()
    if both - {"transform"} or "clip-path" in {*outer.attrib, *inner.attrib}:
        return
    moved = " ".join(filter(None, (outer.get("transform"), inner.get("transform"))))
    outer.attrib |= inner.attrib | ({"transform": moved} if moved else {})
    _fill(outer, list(inner))


def _grouped(children: list[Element]) -> list[Element]:
    """Group neighbours with equal inherited attributes; equal lines become one path."""
    found: list[Element] = []
    for (tag, shared), alike in groupby(children, key=_look):
        members = list(alike)
        if len(members) == 1 or not shared or tag == "g":
            found += members
            continue
        if tag == "line" and (path := _one_path(members)) is not None:
            found.append(Element("path", {**dict(shared), "d": path}))
            continue
        group = Element("g", dict(shared))
        for member in members:
            member.attrib = {k: v for k, v in member.attrib.items() if k not in _INHERITED}
        group.extend(members)
        found.append(group)
    return found


def _look(element: Element) -> tuple[str, tuple[tuple[str, str], ...]]:
    shared = sorted((k, v) for k, v in element.attrib.items() if k in _INHERITED)
    return element.tag, tuple(shared)


def _one_path(lines: list[Element]) -> str | None:
    """Return lines as one path; None where any is not a plain line."""
    moves = []
    for line in lines:
        place = _PLACE.fullmatch(line.get("transform", "translate(0,0)"))
        if place is None or line.attrib.keys() - _INHERITED - {"transform", "x2", "y2"}:
            return None
        moves.append(f"M{place[1]},{place[2]}l{line.get('x2', '0')},{line.get('y2', '0')}")
    return "".join(moves)


def _fill(element: Element, children: list[Element]) -> None:
    element[:] = children
