import type { MachineCode } from '../../kernel/machine-code/index.ts';
import { arm64Stub } from './arm64-stub.ts';
import type { StubRequest } from './stub-request.ts';
import { x86Stub } from './x86-stub.ts';

/** The code that reads these pages on `arch`, or null for an architecture that has none. */
export function makeStub(arch: string, request: StubRequest): MachineCode | null {
  switch (arch) {
    case 'x64':
      return x86Stub(request);
    case 'arm64':
      return arm64Stub(request);
    default:
      return null;
  }
}
