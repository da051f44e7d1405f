export { cacheName, eventNameFromAttr } from './attr-name.ts';
