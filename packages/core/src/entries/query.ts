/** Questions with plain JSON answers. */

export {
  CATEGORIES,
  type Category,
  type CategoryShare,
  type Folding,
  foldedFiles,
  type JavascriptShare,
  type JavascriptTime,
  type JavascriptView,
  javascriptTime,
  type UnusedFold,
  viewJavascript,
} from '../javascript/index.ts';
export * from '../query/index.ts';
