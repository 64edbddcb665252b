import { processIo } from './io.ts'
import { run } from './run.ts'

/** Runs the client in the given process and returns its exit code. */
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
