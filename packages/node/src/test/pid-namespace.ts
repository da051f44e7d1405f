/** Command lines of ours in a pid namespace of their own, as in a container. */
import { spawnSync } from 'node:child_process';

/** With a /proc of its own; what runs in it ends with its first process. */
export const IN_PID_NAMESPACE = ['unshare', '--pid', '--fork', '--kill-child', '--mount-proc'];

/** Why none can be made here, or false. */
export function noPidNamespace(): string | false {
  const [program, ...options] = IN_PID_NAMESPACE;
  return spawnSync(program!, [...options, 'true']).status === 0 ? false : 'no pid namespace can be made here';
}
