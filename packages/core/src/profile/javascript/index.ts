export { CATEGORIES, type Category } from './categories.ts';
export { type CategoryShare, categoryShares } from './category-shares.ts';
export { type Folding, foldedFiles, type IsFolded, OF_NODE, type UnusedFold } from './fold.ts';
export {
  engineWork,
  isNamelessFunction,
  type JavascriptShare,
  type JavascriptTime,
  type JavascriptView,
  javascriptTime,
  viewJavascript,
} from './view.ts';
