/** The image of the drivers' tests: this machine's programs, and a stub in place of the service's. */
import { join } from 'node:path'
import { compileStub } from '../../packages/sandbox/src/conformance/testing-sandboxes.ts'
import { writeImageArchive } from '../../packages/sandbox/src/container/image-archive.ts'

export const stubImage = 'svc.test/stub:1'

export async function writeStubImage(folder: string): Promise<string> {
  const program = await compileStub(folder)
  const output = join(folder, 'stub.tar')
  await writeImageArchive({ svcBinary: program, runtimeBinary: program, output, reference: stubImage })
  return output
}
