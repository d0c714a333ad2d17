/** Objects of a PDF, by number: the first is its catalog. Text is Latin-1. */
type Objects = Record<number, string>;

/** A PDF of those objects, with a right table of their places. */
export function pdfOf(objects: Objects, trailer = ''): Buffer<ArrayBuffer> {
  let text = '%PDF-1.7\n';
  const count = Math.max(...Object.keys(objects).map(Number)) + 1;
  const places = Array.from({ length: count }, () => '0000000000 65535 f \n');
  for (const [number, object] of Object.entries(objects)) {
    places[Number(number)] = `${String(text.length).padStart(10, '0')} 00000 n \n`;
    text += `${number} 0 obj\n${object}\nendobj\n`;
  }
  const table = `xref\n0 ${count}\n${places.join('')}trailer\n<< /Root 1 0 R /Size ${count} ${trailer} >>\n`;
  return Buffer.from(`${text}${table}startxref\n${text.length}\n%%EOF\n`, 'latin1');
}

export const stream = (content: string, entries = '') =>
  `<< /Length ${content.length} ${entries} >>\nstream\n${content}\nendstream`;

/** Of pages, each of its size in points: what is drawn, and further entries of the page. */
export function pages(drawn: { size: [number, number]; content: string; entries?: string }[]): Objects {
  const objects: Objects = {
    1: '<< /Type /Catalog /Pages 2 0 R >>',
    2: `<< /Type /Pages /Count ${drawn.length} /Kids [${drawn.map((_, index) => `${10 + index * 2} 0 R`).join(' ')}] >>`,
    3: '<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>',
  };
  for (const [index, { size, content, entries = '' }] of drawn.entries()) {
    const resources = entries.includes('/Resources') ? '' : '/Resources << /Font << /F1 3 0 R >> >>';
    objects[10 + index * 2] =
      `<< /Type /Page /Parent 2 0 R /MediaBox [0 0 ${size.join(' ')}] /Contents ${11 + index * 2} 0 R ${resources} ${entries} >>`;
    objects[11 + index * 2] = stream(content);
  }
  return objects;
}

/** Covers a page of up to 200 × 200 points with the colour 51, 102, 204. */
export const BLUE = '0.2 0.4 0.8 rg 0 0 200 200 re f';

/** Needs a password, which is nothing that anybody knows. */
export function protectedPdf(): Buffer<ArrayBuffer> {
  const secret = '5'.repeat(64);
  const encrypt = `<< /Filter /Standard /V 1 /R 2 /P -4 /O <${secret}> /U <${secret}> >>`;
  return pdfOf({ ...pages([{ size: [200, 200], content: BLUE }]), 5: encrypt }, '/Encrypt 5 0 R /ID [<01> <01>]');
}

/** Whatever a document can do besides being read: to run scripts, and to ask that address. Its pages are blue all the same. */
export function hostilePdf(address: string): Buffer<ArrayBuffer> {
  const script = `globalThis.hasRun = true; app.launchURL\\('${address}/script'\\); this.submitForm\\('${address}/form'\\);`;
  const js = `<< /S /JavaScript /JS (${script}) >>`;
  const uri = (path: string) => `<< /S /URI /URI (${address}/${path}) >>`;
  const elsewhere = (path: string) => `/F << /Type /Filespec /FS /URL /F (${address}/${path}) >>`;
  const all = '/Rect [0 0 200 200]';
  const annotations = [
    `<< /Type /Annot /Subtype /Link ${all} /A ${uri('link')} /PA ${uri('pa')} >>`,
    `<< /Type /Annot /Subtype /Link ${all} /A << /S /Launch ${elsewhere('launch')} /NewWindow true >> >>`,
    `<< /Type /Annot /Subtype /Widget /FT /Btn /T (b) ${all} /A ${js} /AA << /E ${js} /PO ${js} /PV ${js} >> >>`,
    `<< /Type /Annot /Subtype /FileAttachment ${all} /FS 30 0 R >>`,
    `<< /Type /Annot /Subtype /RichMedia ${all} /RichMediaContent << /Assets << /Names [(a) 30 0 R] >> >> >>`,
  ];
  // The matrix was once made part of a function's text: CVE-2024-4367.
  const font = `<< /Type /Font /Subtype /Type1 /BaseFont /Hostile /FirstChar 65 /LastChar 65 /Widths [600] /FontDescriptor 31 0 R /FontMatrix [0.001 0 0 0.001 0 (0\\); globalThis.hasRun = true; //)] >>`;
  const resources = `/Resources << /Font << /F1 32 0 R >> /XObject << /Im 33 0 R /Fm 34 0 R >> >>`;
  const page = {
    size: [200, 200] as [number, number],
    content: `BT /F1 20 Tf 10 10 Td (A) Tj ET /Im Do /Fm Do ${BLUE}`,
    entries: `${resources} /Annots [${annotations.join(' ')}] /AA << /O ${js} /C ${uri('page')} >>`,
  };
  return pdfOf({
    ...pages([page, page]),
    1: `<< /Type /Catalog /Pages 2 0 R /OpenAction ${js} /AA << /WC ${js} /DS ${uri('aa')} >> /URI << /Base (${address}/base/) >>
      /Names << /JavaScript << /Names [(a) ${js}] >> /EmbeddedFiles << /Names [(page.html) 30 0 R] >> >>
      /AcroForm << /Fields [] /XFA 35 0 R /NeedAppearances true >> /Metadata 36 0 R >>`,
    30: `<< /Type /Filespec /F (page.html) /EF << /F 37 0 R >> >>`,
    31: `<< /Type /FontDescriptor /FontName /Hostile /Flags 4 /FontFile 38 0 R /FontBBox [0 0 1000 1000] /ItalicAngle 0 /Ascent 1 /Descent 0 /StemV 1 >>`,
    32: font,
    33: stream(
      '',
      `/Type /XObject /Subtype /Image /Width 1 /Height 1 /ColorSpace /DeviceGray /BitsPerComponent 8 ${elsewhere('image')}`,
    ),
    34: stream(
      '',
      `/Type /XObject /Subtype /Form /BBox [0 0 9 9] /Ref << ${elsewhere('reference')} /Page 0 >> ${elsewhere('stream')}`,
    ),
    35: stream(
      `<xdp:xdp xmlns:xdp="http://ns.adobe.com/xdp/"><template xmlns="http://www.xfa.org/schema/xfa-template/3.0/"><subform><event activity="initialize"><script contentType="application/x-javascript">globalThis.hasRun = true</script></event><draw><value><image href="${address}/xfa"/></value></draw></subform></template></xdp:xdp>`,
    ),
    36: stream(`<!DOCTYPE x [<!ENTITY e SYSTEM "${address}/entity">]><x>&e;</x>`, '/Type /Metadata /Subtype /XML'),
    37: stream('<script>globalThis.hasRun = true</script>', '/Type /EmbeddedFile /Subtype /text#2Fhtml'),
    38: stream('', elsewhere('font')),
  });
}
