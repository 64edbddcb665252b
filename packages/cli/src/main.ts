import { processIo } from './io.ts'
import { run } from './run.ts'

/** The client, in the process it is given; answers with its exit code. */
export async function runClient(process: NodeJS.Process): Promise<number> {
  const { io, written } = processIo(process)
  const code = await run(process.argv.slice(2), io)
  try {
    await written()
    return code
  } catch (error) {
    io.stderr.write(`error: the output could not be written: ${(error as Error).message}\n`)
    return 1
  }
}
