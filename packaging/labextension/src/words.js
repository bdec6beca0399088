// Words that JupyterLab's parsers take for names: qualifiers of CUDA, keywords of C that C++ has not, C types in Cython;
// and types, which its themes leave black.

import { HighlightStyle, syntaxHighlighting, syntaxTree } from '@codemirror/language';
import { Prec } from '@codemirror/state';
import { Decoration, EditorView, MatchDecorator, ViewPlugin } from '@codemirror/view';
import { tags } from '@lezer/highlight';
import { magicOf } from './magic.js';

const CUDA =
  '__(?:global|device|host|shared|constant|managed|grid_constant|restrict|noinline|forceinline|launch_bounds)__';
const KEYWORDS = {
  C: 'restrict|_Alignas|_Alignof|_Atomic|_Complex|_Generic|_Noreturn|_Static_assert|_Thread_local',
  'C++': CUDA,
  Cython: 'const|inline|noexcept|fused'
};
const TYPES = {
  C: 'T|_Bool|_Float16|complex',
  'C++': '(?:u?char|u?short|u?int|u?long|float|double)[1-4]|half|dim3',
  Cython:
    'bint|char|short|int|long|float|double|void|signed|unsigned|complex|size_t|ssize_t|Py_ssize_t|object|' +
    'u?int(?:8|16|32|64)_t'
};
const KEYWORD = Decoration.mark({ class: 'ufm-keyword' });
const TYPE = Decoration.mark({ class: 'ufm-type' });
const TYPE_COLOUR = 'var(--jp-mirror-editor-variable-3-color)';
const NO_CODE = /comment|string|include|char/i;

/** Colours for one language. */
export function words(language) {
  const decorator = new MatchDecorator({
    regexp: new RegExp(`\\b(?:(${KEYWORDS[language]})|(${TYPES[language]}))\\b`, 'g'),
    decorate: (add, from, to, match, view) => {
      const { state } = view;
      // The words of Cython are also arguments and methods: x.int, f(long=1).
      const around = state.sliceDoc(from - 1, from) + state.sliceDoc(to, to + 1);
      if (NO_CODE.test(syntaxTree(state).resolveInner(from, 1).name) || /[.=]/.test(around)) return;
      if (from >= (magicOf(state.doc)?.line.to ?? 0)) add(from, to, match[1] ? KEYWORD : TYPE);
    }
  });
  const plugin = ViewPlugin.define(view => ({ marks: decorator.createDeco(view), update }), {
    decorations: value => value.marks
  });
  function update({ startState, state, view, docChanged, viewportChanged }) {
    if (docChanged || viewportChanged || syntaxTree(startState) !== syntaxTree(state)) {
      this.marks = decorator.createDeco(view);
    }
  }
  // The higher, the further inside: these win over what JupyterLab colours.
  return [Prec.highest(plugin), syntaxHighlighting(TYPES_COLOURED), theme];
}

const TYPES_COLOURED = HighlightStyle.define([{ tag: tags.typeName, color: TYPE_COLOUR }]);

const theme = EditorView.baseTheme({
  '.ufm-keyword': { color: 'var(--jp-mirror-editor-keyword-color)', fontWeight: 'bold' },
  '.ufm-type': { color: TYPE_COLOUR }
});
