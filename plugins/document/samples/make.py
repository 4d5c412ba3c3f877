#!/usr/bin/env python3
"""Make the files beside this one anew: documents as small as they can be, and attacks."""
import os, warnings, zipfile

os.chdir(os.path.dirname(os.path.abspath(__file__)))
WORD = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'
REL = 'xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships"'
SHEET = 'xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"'
SLIDE = 'xmlns:p="http://schemas.openxmlformats.org/presentationml/2006/main" xmlns:a="http://schemas.openxmlformats.org/drawingml/2006/main"'
ODF = " ".join(f'xmlns:{n}="urn:oasis:names:tc:opendocument:xmlns:{n}:1.0"' for n in ("office", "text", "table", "drawing")) + \
    ' xmlns:draw="urn:oasis:names:tc:opendocument:xmlns:drawing:1.0" xmlns:dc="http://purl.org/dc/elements/1.1/"'


def pack(name, parts, stored=()):
    with zipfile.ZipFile(name, "w", zipfile.ZIP_DEFLATED) as archive:
        for path, text in parts:
            info = zipfile.ZipInfo(path, (2026, 1, 1, 0, 0, 0))
            info.compress_type = zipfile.ZIP_STORED if path in stored else zipfile.ZIP_DEFLATED
            archive.writestr(info, text)


def paragraph(text):
    return f"<w:p><w:r><w:t>{text}</w:t></w:r></w:p>"


def docx(name, body, head='<?xml version="1.0"?>', more=()):
    pack(name, [("word/document.xml", f"{head}<w:document {WORD}><w:body>{body}</w:body></w:document>"), *more])


def links(parts):
    return "<Relationships>" + "".join(f'<Relationship Id="{i}" Target="{t}"/>' for i, t in parts) + "</Relationships>"


def pdf(name, pages, info=b"/Title (Two pages) /Author (Ada)"):
    objects = [b"<< /Type /Catalog /Pages 2 0 R >>",
               b"<< /Type /Pages /Kids [%s] /Count %d >>" % (b" ".join(b"%d 0 R" % (5 + 2 * i) for i in range(len(pages))), len(pages)),
               b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>", b"<< %s >>" % info]
    for i, text in enumerate(pages):
        content = b"BT /F1 12 Tf 20 100 Td (%s) Tj ET" % text
        objects.append(b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 300 200] /Contents %d 0 R /Resources << /Font << /F1 3 0 R >> >> >>" % (6 + 2 * i))
        objects.append(b"<< /Length %d >>\nstream\n%s\nendstream" % (len(content), content))
    out, places = b"%PDF-1.4\n", []
    for i, one in enumerate(objects):
        places.append(len(out))
        out += b"%d 0 obj\n%s\nendobj\n" % (i + 1, one)
    start = len(out)
    out += b"xref\n0 %d\n0000000000 65535 f \n" % (len(objects) + 1) + b"".join(b"%010d 00000 n \n" % p for p in places)
    out += b"trailer << /Size %d /Root 1 0 R /Info 4 0 R >>\nstartxref\n%d\n%%%%EOF\n" % (len(objects) + 1, start)
    open(name, "wb").write(out)


pdf("two.pdf", [b"Hello, first page", b"and the second"])
open("cut.pdf", "wb").write(open("two.pdf", "rb").read()[:120])

docx("letter.docx", paragraph("Dear Ada,") + "<w:p><w:r><w:t>one</w:t><w:tab/><w:t>two &amp; three</w:t><w:br/><w:t>four</w:t></w:r></w:p>" +
     '<w:p><w:del><w:r><w:delText>gone</w:delText></w:r></w:del><w:r><w:t xml:space="preserve">stays </w:t></w:r></w:p>' +
     "<w:tbl><w:tr><w:tc>" + paragraph("a") + "</w:tc><w:tc>" + paragraph("b") + "</w:tc></w:tr></w:tbl>",
     more=[("word/footnotes.xml", f"<w:footnotes {WORD}>" + paragraph("a note") + "</w:footnotes>"),
           ("docProps/core.xml", '<cp:coreProperties xmlns:cp="c" xmlns:dc="d"><dc:title>Letter</dc:title><dc:creator>Grüße</dc:creator></cp:coreProperties>'),
           ("word/media/image1.png", "not unpacked")])
pack("prices.xlsx", [
    ("xl/workbook.xml", f'<workbook {SHEET} {REL}><sheets><sheet name="Prices" sheetId="1" r:id="rId7"/><sheet name="Empty" sheetId="2" r:id="rId8"/></sheets></workbook>'),
    ("xl/_rels/workbook.xml.rels", links([("rId8", "worksheets/sheet1.xml"), ("rId7", "/xl/worksheets/sheet2.xml")])),
    ("xl/sharedStrings.xml", f"<sst {SHEET}><si><t>name</t></si><si><r><t>pen</t></r><r><t>cil</t></r><rPh><t>x</t></rPh></si></sst>"),
    ("xl/worksheets/sheet1.xml", f"<worksheet {SHEET}><sheetData/></worksheet>"),
    ("xl/worksheets/sheet2.xml", f'<worksheet {SHEET}><sheetData><row r="1"><c r="A1" t="s"><v>0</v></c><c r="C1" t="inlineStr"><is><t>price\nin EUR</t></is></c></row>' +
     '<row r="2"><c r="A2" t="s"><v>1</v></c><c r="C2"><f>1+1.5</f><v>2.5</v></c><c r="D2" t="b"><v>1</v></c><c r="E2" t="s"><v>99</v></c></row></sheetData></worksheet>')])
STYLES = ('<numFmts><numFmt numFmtId="164" formatCode="[$-407]d. mmmm yyyy;@"/><numFmt numFmtId="165" formatCode="yyyy\\-mm\\-dd h:mm"/>' +
          '<numFmt numFmtId="166" formatCode="0.0 &quot;days&quot;"/><numFmt numFmtId="167" formatCode="[h]:mm:ss"/></numFmts><cellStyleXfs><xf numFmtId="14"/></cellStyleXfs><cellXfs>' +
          "".join(f'<xf numFmtId="{n}"/>' for n in (0, 14, 164, 165, 166, 167, 20)) + "</cellXfs>")
for name, begin, cells in (("dates.xlsx", "", [(0, "45306"), (1, "45306"), (2, "45306.5"), (3, "45306.604166666664"), (4, "45306"), (5, "2.0625"), (6, "0.604166666666667"), (1, "1"), (1, "60"),
                                               (1, "61"), (1, "-1"), (1, "2958466"), (1, "4.5E4"), (9, "7")]),
                           ("dates-1904.xlsx", '<workbookPr date1904="1"/>', [(1, "43844")])):
    pack(name, [
        ("xl/workbook.xml", f'<workbook {SHEET} {REL}>{begin}<sheets><sheet name="Dates" sheetId="1" r:id="rId1"/></sheets></workbook>'),
        ("xl/_rels/workbook.xml.rels", links([("rId1", "worksheets/sheet1.xml")])),
        ("xl/styles.xml", f"<styleSheet {SHEET}>{STYLES}</styleSheet>"),
        ("xl/worksheets/sheet1.xml", f"<worksheet {SHEET}><sheetData><row>" + "".join(f'<c s="{s}"><v>{v}</v></c>' for s, v in cells) + "</row></sheetData></worksheet>")])
pack("talk.pptx", [
    ("ppt/presentation.xml", f'<p:presentation {SLIDE} {REL}><p:sldIdLst><p:sldId id="256" r:id="rId2"/><p:sldId id="257" r:id="rId1"/></p:sldIdLst></p:presentation>'),
    ("ppt/_rels/presentation.xml.rels", links([("rId1", "slides/slide1.xml"), ("rId2", "slides/slide2.xml")])),
    ("ppt/slides/slide1.xml", f"<p:sld {SLIDE}><a:p><a:r><a:t>End</a:t></a:r></a:p></p:sld>"),
    ("ppt/slides/slide2.xml", f"<p:sld {SLIDE}><a:p><a:r><a:t>Begin</a:t></a:r></a:p><a:p><a:r><a:t>here</a:t></a:r></a:p></p:sld>")])


def odf(name, kind, body):
    pack(name, [("mimetype", "application/vnd.oasis.opendocument." + kind),
                ("content.xml", f"<office:document-content {ODF}><office:body>{body}</office:body></office:document-content>"),
                ("meta.xml", f"<office:document-meta {ODF}><dc:title>An {kind}</dc:title></office:document-meta>")], stored=("mimetype",))


odf("letter.odt", "text", '<office:text><text:tracked-changes><text:p>gone</text:p></text:tracked-changes><text:h>Head</text:h><text:p>one<text:s text:c="3"/>two\n  three<text:tab/>four<text:line-break/><text:span>five</text:span></text:p></office:text>')
odf("prices.ods", "spreadsheet", '<office:spreadsheet><table:table table:name="One"><table:table-row><table:table-cell><text:p>a</text:p></table:table-cell><table:table-cell table:number-columns-repeated="2"/><table:table-cell><text:p>b</text:p></table:table-cell><table:table-cell table:number-columns-repeated="16000"/></table:table-row></table:table>' +
    '<table:table table:name="Two"><table:table-row><table:table-cell><text:p>c</text:p></table:table-cell></table:table-row></table:table></office:spreadsheet>')
odf("talk.odp", "presentation", '<office:presentation><draw:page draw:name="first"><text:p>Begin</text:p></draw:page><draw:page draw:name="second"><text:p>End</text:p></draw:page></office:presentation>')

# ------------------------------------------------------------ attacks
docx("entity.docx", paragraph("&x;"), '<?xml version="1.0"?><!DOCTYPE d [<!ENTITY x SYSTEM "file:///etc/passwd">]>')
docx("laughs.docx", paragraph("&c;"), '<!DOCTYPE d [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;"><!ENTITY c "&b;&b;&b;&b;&b;&b;&b;&b;">]>')
docx("include.docx", '<xi:include xmlns:xi="http://www.w3.org/2001/XInclude" href="/etc/passwd" parse="text"/>' + paragraph("in"))
docx("deep.docx", "<w:p>" * 2000)
docx("broken.docx", "<w:p><w:r></w:p>")
docx("bomb.docx", " " * (70 << 20))
pack("zip.docx", [("readme.txt", "only an archive")])
pack("nothing.xlsx", [("xl/workbook.xml", f"<workbook {SHEET}/>")])
warnings.simplefilter("ignore")
docx("twice.docx", paragraph("one"), more=[("word/document.xml", f"<w:document {WORD}>" + paragraph("two") + "</w:document>")])
open("cut.docx", "wb").write(open("letter.docx", "rb").read()[:300])
locked = bytearray(open("talk.odp", "rb").read())
for mark, at in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):  # the flag "encrypted" of every member
    place = locked.find(mark)
    while place >= 0:
        locked[place + at] |= 1
        place = locked.find(mark, place + 4)
open("locked.odp", "wb").write(bytes(locked))
