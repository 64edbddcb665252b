/**
 * Lets this process have as many open requests to sandboxes, models and other servers as it needs. Bun sends 256 at a time,
 * the others wait, and it reads another number from the environment before the first line of a program runs. So the program
 * replaces itself by itself, as the same process. See docs/decisions/0069-the-server-runs-itself-again.md.
 */
import { dlopen, FFIType, ptr } from 'bun:ffi'

const variable = 'BUN_CONFIG_MAX_HTTP_REQUESTS'
/** The most that Bun takes. */
const requestsMax = 65_535
/** Where the modules of a compiled program are. */
const compiledRoot = '/$bunfs/'

/** Does not return, except with a number in the environment. */
export function raiseRequestLimit(): void {
  if (process.env[variable] !== undefined) return
  const [, script = '', ...args] = process.argv
  // Run from source, Bun has arguments of its own, such as a preloaded module.
  const source = script.startsWith(compiledRoot) ? [] : [...process.execArgv, script]
  const environment = Object.entries({ ...process.env, [variable]: String(requestsMax) })
  try {
    replaceProcess(
      process.execPath,
      [process.argv0, ...source, ...args],
      environment.map(([name, value]) => `${name}=${value}`),
    )
  } catch (error) {
    const why = `svc server: more than 256 open requests to sandboxes and models wait: ${(error as Error).message}`
    process.stderr.write(`${why}\nSet ${variable}=${requestsMax} in the environment of the server.\n`)
  }
}

function replaceProcess(path: string, args: string[], environment: string[]): never {
  const library = process.platform === 'darwin' ? 'libSystem.B.dylib' : 'libc.so.6'
  const strings: Buffer[] = []
  const pointer = (text: string) => {
    const bytes = Buffer.from(`${text}\0`)
    // Kept from the garbage collector until the call.
    strings.push(bytes)
    return ptr(bytes)
  }
  const list = (texts: string[]) => new BigUint64Array([...texts.map((text) => BigInt(pointer(text))), 0n])
  const [argv, envp] = [list(args), list(environment)]
  const { symbols } = dlopen(library, {
    execve: { args: [FFIType.ptr, FFIType.ptr, FFIType.ptr], returns: FFIType.i32 },
  })
  symbols.execve(pointer(path), ptr(argv), ptr(envp))
  throw new Error(`the program ${path} could not be run again`)
}
