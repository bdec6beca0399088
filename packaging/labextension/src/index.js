// Cells of %%c_ufunc, %%cuda_device and %%cython_ufunc in JupyterLab and Notebook 7: the editor speaks their language,
// and the lines that a compiler complains about are marked.  Runs no code and opens no connection.

import { IEditorExtensionRegistry, IEditorLanguageRegistry } from '@jupyterlab/codemirror';
import { cellLanguage, loadLanguages } from './language.js';
import { errorMarks } from './marks.js';

const plugin = {
  id: 'ufunc-magic:cells',
  description: 'Colours the cells of ufunc_magic in their language and marks their errors.',
  autoStart: true,
  requires: [IEditorExtensionRegistry, IEditorLanguageRegistry],
  activate: async (app, extensions, languages) => {
    const parsers = await loadLanguages(languages);
    extensions.addExtension({
      name: 'ufunc-magic:cells',
      factory: ({ model }) => {
        if (model?.type !== 'code') return null; // a file, a Markdown cell
        const extension = [cellLanguage(parsers, model), errorMarks(model)];
        return { instance: () => extension, reconfigure: () => null };
      }
    });
  }
};

export default plugin;
