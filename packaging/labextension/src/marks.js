// The compiler's messages on the lines of a cell: from the metadata of the cell's outputs, until the next edit or run.

import { StateEffect, StateField } from '@codemirror/state';
import { Decoration, EditorView, hoverTooltip, ViewPlugin } from '@codemirror/view';
import { magicOf } from './magic.js';

const NOTHING = { decorations: Decoration.none, lines: new Map() };
const setMarks = StateEffect.define();

const marks = StateField.define({
  create: () => NOTHING,
  update(value, transaction) {
    const effect = transaction.effects.find(one => one.is(setMarks));
    return effect ? effect.value : transaction.docChanged ? NOTHING : value;
  },
  provide: field => EditorView.decorations.from(field, value => value.decorations)
});

/** Marks the lines of one cell, whose outputs are in ``model``. */
export function errorMarks(model) {
  const { outputs } = model; // a closed notebook takes it from the model before the editor goes
  const watch = ViewPlugin.define(view => {
    const read = () => {
      const value = marksIn(outputs, view.state.doc);
      if (value !== NOTHING || view.state.field(marks) !== NOTHING) view.dispatch({ effects: setMarks.of(value) });
    };
    let alive = true;
    queueMicrotask(() => alive && read()); // a view must not be changed while it is made
    outputs.changed.connect(read);
    return {
      destroy() {
        alive = false;
        outputs.changed.disconnect(read);
      }
    };
  });
  return [marks, watch, hoverTooltip(tooltip, { hideOnChange: true }), theme];
}

function marksIn(outputs, doc) {
  const magic = outputs.length ? magicOf(doc) : null;
  if (!magic) return NOTHING;
  const places = new Map();
  let checksum;
  for (let n = 0; n < outputs.length; n++) {
    const report = outputs.get(n).metadata?.ufunc_magic;
    if (!Array.isArray(report?.diagnostics)) continue;
    // The marks are for the text that ran: not for what was typed meanwhile, or before the notebook was saved.
    checksum ??= crc32(doc.toString());
    if (report.crc32 !== checksum) continue;
    for (const diagnostic of report.diagnostics) {
      // The package counts the lines below the magic; 0 is the magic's own.
      const number = magic.line.number + diagnostic.line;
      if (!(number >= magic.line.number && number <= doc.lines)) continue;
      const notes = (diagnostic.notes ?? []).map(note => noteText(note, magic));
      places.set(number, [...(places.get(number) ?? []), { ...diagnostic, notes }]);
    }
  }
  return places.size ? { lines: places, decorations: decorationsOf(places, doc, magic) } : NOTHING;
}

function noteText({ message, line }, magic) {
  return line ? `note on line ${magic.line.number + line}: ${message}` : `note: ${message}`;
}

function decorationsOf(places, doc, magic) {
  // IPython takes the indentation of the first line away from the others, too.
  const indentation = /^\s*/.exec(magic.line.text)[0];
  const ranges = [];
  for (const [number, diagnostics] of places) {
    const line = doc.line(number);
    const worst = diagnostics.some(one => one.severity === 'error') ? 'error' : 'warning';
    ranges.push(Decoration.line({ class: `ufm-line ufm-line-${worst}` }).range(line.from));
    const cut = indentation && number > magic.line.number && line.text.startsWith(indentation) ? indentation.length : 0;
    for (const { severity, column } of diagnostics) {
      const [from, to] = span(line.text, cut, column);
      if (to > from) {
        const mark = Decoration.mark({ class: severity === 'error' ? 'ufm-error' : 'ufm-warning' });
        ranges.push(mark.range(line.from + from, line.from + to));
      }
    }
  }
  return Decoration.set(ranges, true);
}

/** What to underline: the word at the column (which counts characters from 1), or else the whole line. */
function span(text, cut, column) {
  const whole = [text.length - text.trimStart().length, text.trimEnd().length];
  if (!column) return whole;
  const from = cut + [...text.slice(cut)].slice(0, column - 1).join('').length;
  const word = /^[\p{L}\p{N}_]{2,}/u.exec(text.slice(from));
  return word ? [from, from + word[0].length] : whole;
}

function tooltip(view, position) {
  const line = view.state.doc.lineAt(position);
  const diagnostics = view.state.field(marks).lines.get(line.number);
  if (!diagnostics) return null;
  return { pos: line.from, end: line.to, above: true, create: () => ({ dom: shown(diagnostics) }) };
}

/** Texts only: nothing of a compiler's words is HTML. */
function shown(diagnostics) {
  const dom = element('div', 'ufm-messages');
  for (const { severity, message, option, hint, notes } of diagnostics) {
    const item = dom.appendChild(element('div', 'ufm-message'));
    item.append(element('span', `ufm-severity-${severity === 'error' ? 'error' : 'warning'}`, severity), `: ${message}`);
    if (option) item.append(' ', element('span', 'ufm-aside', `[${option}]`));
    for (const note of notes) item.append(element('div', 'ufm-aside', note));
    if (hint) item.append(element('div', 'ufm-hint', `hint: ${hint}`));
  }
  return dom;
}

function element(name, className, text = '') {
  const node = document.createElement(name);
  node.className = className;
  node.textContent = text;
  return node;
}

/** Of the text in UTF-8, as zlib.crc32 of Python. */
function crc32(text) {
  let value = -1;
  for (const byte of new TextEncoder().encode(text)) {
    value ^= byte;
    for (let bit = 0; bit < 8; bit++) value = (value >>> 1) ^ (0xedb88320 & -(value & 1));
  }
  return ~value >>> 0;
}

const RED = 'var(--jp-error-color1, #d32f2f)';
const ORANGE = 'var(--jp-warn-color1, #f57c00)';
const wavy = colour => ({
  textDecoration: `underline wavy ${colour} 1px`,
  textDecorationSkipInk: 'none',
  textUnderlineOffset: '3px'
});
const tinted = colour => ({ backgroundColor: `color-mix(in srgb, ${colour} 10%, transparent)` });

const theme = EditorView.baseTheme({
  '.ufm-error': wavy(RED),
  '.ufm-warning': wavy(ORANGE),
  '.ufm-line-error': tinted(RED),
  '.ufm-line-warning': tinted(ORANGE),
  '.ufm-messages': {
    maxWidth: '60em',
    padding: '4px 8px',
    color: 'var(--jp-ui-font-color1)',
    backgroundColor: 'var(--jp-layout-color1)',
    fontFamily: 'var(--jp-code-font-family)',
    fontSize: 'var(--jp-code-font-size)',
    whiteSpace: 'pre-wrap'
  },
  '.ufm-message + .ufm-message': { marginTop: '6px' },
  '.ufm-severity-error': { color: RED, fontWeight: 'bold' },
  '.ufm-severity-warning': { color: ORANGE, fontWeight: 'bold' },
  '.ufm-aside': { color: 'var(--jp-ui-font-color2)' }
});
