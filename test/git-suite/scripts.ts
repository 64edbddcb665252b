import { spawn } from 'node:child_process'
import { buffer } from 'node:stream/consumers'

/**
 * Runs one of the tests' own scripts, which respond as a broken host would. A CGI response is headers, an empty line and the
 * body.
 */
export async function runScript(file: string, pathInfo: string): Promise<Response> {
  const child = spawn(file, [], { env: { ...process.env, PATH_INFO: pathInfo }, stdio: ['ignore', 'pipe', 'inherit'] })
  const output = await buffer(child.stdout)
  const end = output.indexOf('\n\n')
  const headers = new Headers()
  let status = 200
  for (const line of output.subarray(0, end).toString('latin1').split('\n')) {
    const colon = line.indexOf(':')
    const [name, value] = [line.slice(0, colon), line.slice(colon + 1).trim()]
    if (name.toLowerCase() === 'status') status = Number.parseInt(value, 10)
    else headers.set(name, value)
  }
  return new Response(output.subarray(end + 2), { status, headers })
}
