/** Questions with plain JSON answers. */

export * from '../answers/index.ts';
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
} from '../profile/javascript/index.ts';
