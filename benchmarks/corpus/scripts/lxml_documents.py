"""Documents parsed, searched, transformed, validated and written; broken HTML mended."""

import io
import sys

from lxml import etree, html, objectify
from lxml.builder import E

count = int(sys.argv[1])
shelf = E.shelf(
    *(E.book(E.title(f"Book {n} & more"), E.pages(str(n * 7)), id=f"b{n}") for n in range(count))
)
text = etree.tostring(shelf, pretty_print=True, xml_declaration=True, encoding="utf-8")
tree = etree.fromstring(text, etree.XMLParser(remove_blank_text=True))
print(len(text), tree.xpath("sum(//pages)"), tree.xpath("//book[pages > 20]/@id")[:3])
print(tree.find(".//book[@id='b3']/title").text, [node.tag for node in tree[0].iter()])
sheet = etree.XSLT(
    etree.XML("""
<xsl:stylesheet version="1.0" xmlns:xsl="http://www.w3.org/1999/XSL/Transform">
  <xsl:template match="/shelf"><list><xsl:for-each select="book">
    <xsl:sort select="pages" data-type="number" order="descending"/>
    <li><xsl:value-of select="concat(title, ': ', pages)"/></li>
  </xsl:for-each></list></xsl:template>
</xsl:stylesheet>""")
)
print(str(sheet(tree)).splitlines()[-1][:90])
schema = etree.XMLSchema(
    etree.XML("""
<xs:schema xmlns:xs="http://www.w3.org/2001/XMLSchema">
<xs:element name="shelf"><xs:complexType><xs:sequence>
<xs:element name="book" maxOccurs="unbounded"><xs:complexType><xs:sequence>
<xs:element name="title" type="xs:string"/><xs:element name="pages" type="xs:integer"/>
</xs:sequence><xs:attribute name="id" type="xs:ID"/></xs:complexType></xs:element>
</xs:sequence></xs:complexType></xs:element></xs:schema>""")
)
print(
    schema.validate(tree),
    schema.validate(etree.XML("<shelf><book/></shelf>")),
    len(schema.error_log),
)
dtd = etree.DTD(io.StringIO("<!ELEMENT shelf (book*)><!ELEMENT book ANY>"))
print("dtd", dtd.validate(etree.XML("<shelf><book/></shelf>")))
page = html.fromstring("<div><p>one<p>two <b>bold<a href='x?a=1&b=2'>link</div>")
page.make_links_absolute("http://host/")
print(html.tostring(page).decode(), [link[2] for link in page.iterlinks()])
plain = objectify.fromstring(text)
print(sum(int(book.pages) for book in plain.book), type(plain.book[1].pages).__name__)
print(
    sum(1 for _ in etree.iterparse(io.BytesIO(text), tag="title")),
    len(etree.tostring(tree, method="c14n")),
)
try:
    etree.fromstring("<a><b></a>")
except etree.XMLSyntaxError as error:
    print(error.msg)
