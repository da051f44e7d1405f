import { NodeCounts } from '../pt/answers/node-counts.ts';
import { ProfileCollector } from '../pt/answers/profile-trace.ts';
import type { CodeGraph } from '../pt/graph/index.ts';

/**
 * A collector with the counts of each graph at hand; those of one that ends go into its
 * profile, as in `profileTrace`.
 */
export function collectByGraph(onEnd: (graph: CodeGraph) => void = () => {}) {
  const counts = new Map<CodeGraph, NodeCounts>();
  const collector: ProfileCollector = new ProfileCollector((graph) => {
    const own = new NodeCounts(graph, () => collector.profile.addGraph(own.take()));
    counts.set(graph, own);
    return own;
  });
  collector.onGraphEnd = (graph) => {
    onEnd(graph);
    collector.profile.addGraph(counts.get(graph)!);
    counts.delete(graph);
  };
  return { collector, counts };
}
