export { CATEGORIES, type Category } from './categories.ts';
export {
  engineWork,
  isNamelessFunction,
  type JavascriptShare,
  type JavascriptTime,
  type JavascriptView,
  javascriptTime,
  viewJavascript,
} from './view.ts';
