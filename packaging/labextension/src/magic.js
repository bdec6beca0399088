// What the first line of a cell says.

const MAGIC = /^\s*%%(c_ufunc|cuda_device|cython_ufunc)(?=\s|$)(.*)$/;
// Alone, or among letters that need no value: -+, -q+.
const CPLUS = /(?:^|\s)(?:-\w*\+\w*|--cplus)(?=\s|$)/;

/** The line of the magic and its language; null where a cell has none.  IPython skips blank lines, so does this. */
export function magicOf(doc) {
  for (let number = 1; number <= doc.lines; number++) {
    const line = doc.line(number);
    if (!line.text.trim()) continue;
    const match = MAGIC.exec(line.text);
    if (!match) return null;
    const [, magic, options] = match;
    if (magic === 'cython_ufunc') return { line, language: 'Cython' };
    return { line, language: magic === 'cuda_device' || CPLUS.test(options) ? 'C++' : 'C' };
  }
  return null;
}
