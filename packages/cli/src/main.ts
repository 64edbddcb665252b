import { processIo } from './io.ts'
import { run } from './run.ts'

/** The client, in the process it is given; answers with its exit code. */
export async function runClient(process: NodeJS.Process): Promise<number> {
  return run(process.argv.slice(2), processIo(process))
}
