// The language of a cell: Python on the magic's line, C, C++ or Cython below it.

import { defineLanguageFacet, indentNodeProp, indentService, Language, syntaxTree } from '@codemirror/language';
import { Compartment, EditorState, Prec, Text } from '@codemirror/state';
import { NodeType, parseMixed, Parser, Tree } from '@lezer/common';
import { magicOf } from './magic.js';
import { words } from './words.js';

const NONE = [];
const BELOW = ['C', 'C++', 'Cython'];

/** JupyterLab's own parsers: name of a language -> an extension for a cell of it. */
export async function loadLanguages(registry) {
  const [python, ...below] = await Promise.all(['ipython', ...BELOW].map(name => registry.getLanguage(name)));
  return new Map(
    below.map(({ support }, n) => {
      const { language } = support;
      // To Cython the magic's line is Python as well.
      const whole = BELOW[n] === 'Cython' ? language : languageOf(python.support.language, language);
      // Before the language that the cell has anyway.
      return [BELOW[n], [Prec.highest(whole.extension), support.support, words(BELOW[n]), openBraces]];
    })
  );
}

function languageOf(python, below) {
  // How to comment and to indent stands in the two parts of the tree.
  return new Language(defineLanguageFacet(), new CellParser(python.parser, below.parser), [], 'ufunc_magic');
}

const CELL = NodeType.define({ id: 1, name: 'Cell', top: true });
const MAGIC = NodeType.define({ id: 2, name: 'Magic' });
const BODY = NodeType.define({ id: 3, name: 'Body' });

/** A cell is two texts.  Python's parser does not see the lower one, or it would have a say in how that is indented. */
class CellParser extends Parser {
  constructor(python, below) {
    super();
    this.parts = parseMixed(({ type, from, to }) => {
      const parser = type === MAGIC ? python : type === BODY ? below : null;
      // As an overlay: what replaces a node is entered from beside it by JupyterLab 4.6's @lezer/common.
      return parser && to > from ? { parser, overlay: [{ from, to }] } : null;
    });
  }

  createParse(input, fragments, ranges) {
    const whole = { parsedPos: input.length, stoppedAt: null, stopAt() {}, advance: () => split(input) };
    return this.parts(whole, input, fragments, ranges);
  }
}

function split(input) {
  const text = input.read(0, input.length);
  const newline = text.indexOf('\n', text.search(/\S/));
  const end = newline < 0 ? text.length : newline + 1;
  const parts = [new Tree(MAGIC, [], [], end)];
  if (end < text.length) parts.push(new Tree(BODY, [], [], text.length - end));
  return new Tree(CELL, parts, [0, end].slice(0, parts.length), text.length);
}

/** Where a brace is not closed yet, @lezer/cpp 1.1 (of JupyterLab 4.6) sees no block that could say how to indent. */
const openBraces = indentService.of((context, position) => {
  let top = syntaxTree(context.state).resolveInner(position, -1);
  while (top.parent && !top.type.isTop) top = top.parent;
  const open = [];
  top.cursor().iterate(node => {
    if (node.from >= position) return false;
    if (node.name === '{') open.push(node.node);
    else if (node.name === '}') open.pop();
  });
  const last = open.pop();
  const block = last?.parent;
  if (!last || (block.firstChild.from === last.from && block.type.prop(indentNodeProp))) return undefined;
  const closes = /^\s*\}/.test(context.textAfterPos(position));
  return context.lineIndent(last.from) + (closes ? 0 : context.unit);
});

/** Gives the cell its language, and another when its first line changes. */
export function cellLanguage(parsers, model) {
  const slot = new Compartment();
  const choose = doc => parsers.get(magicOf(doc)?.language) ?? NONE;
  return [
    slot.of(choose(Text.of(model.sharedModel.getSource().split('\n')))),
    EditorState.transactionExtender.of(transaction => {
      if (!transaction.docChanged) return null;
      const next = choose(transaction.newDoc);
      return next === slot.get(transaction.startState) ? null : { effects: slot.reconfigure(next) };
    })
  ];
}
