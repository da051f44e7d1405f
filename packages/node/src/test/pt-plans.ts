/** Prints what recordings would open: for a machine that is only there for one process. Options in a file. */
import { readFileSync } from 'node:fs';
import { attrFields } from '../cli/common/attr-fields.ts';
import { planRecording, type RecordOptions } from '../linux/sample/record/index.ts';

const requests = JSON.parse(readFileSync(process.argv[2]!, 'utf8')) as RecordOptions[];
const plans = [];
for (const request of requests) {
  try {
    const { plan } = await planRecording({ command: ['true'], ...request }, process.pid);
    plans.push(
      plan.events.map(({ name, attr, filter, aux }) => ({ name, attr: attrFields(attr), filter, aux })),
    );
  } catch (error) {
    plans.push({ code: (error as { code?: string }).code, message: (error as Error).message });
  }
}
process.stdout.write(JSON.stringify(plans));
