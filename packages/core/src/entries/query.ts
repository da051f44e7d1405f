/** Questions with plain JSON answers. */

export {
  CATEGORIES,
  type Category,
  type JavascriptShare,
  type JavascriptTime,
  type JavascriptView,
  javascriptTime,
  viewJavascript,
} from '../javascript/index.ts';
export * from '../query/index.ts';
