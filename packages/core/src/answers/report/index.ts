export { type OneEventAnswer, type ReportAnswer, reportProfile, type ShownJavascript } from './report.ts';
export { type ReportNeeds, type ReportOptions, reportNeeds } from './report-options.ts';
export { shownEvents } from './shown-events.ts';
